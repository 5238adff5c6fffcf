/** Reads an approval: its title and labels, the answers it takes, and the details to show. */
import type { Approval, Mode } from "@/api/types";
import { modeName } from "@/lib/words";
import { proposalOf, proposalTitle } from "./proposedCall";

export type Detail =
  | { type: "command"; text: string; cwd: string | null }
  | { type: "diff"; path: string; oldText: string | null; newText: string }
  | { type: "text"; text: string }
  | { type: "paths"; paths: string[] }
  | { type: "facts"; facts: { name: string; value: string }[] };

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const toText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

export interface ApprovalLabels {
  title: string;
  allow: string;
  deny: string;
}

/** Labels of approvals that Bough itself requests, and of mode changes. */
const OWN_LABELS: Record<string, ApprovalLabels> = {
  interrupted: { title: "The turn was interrupted", allow: "Continue", deny: "Discard" },
  trust: {
    title: "This repository contains code for the agent to run",
    allow: "Trust and run",
    deny: "Discard prompt",
  },
  limit: { title: "This tree has used up its budget", allow: "Continue", deny: "Discard prompt" },
  agent_limit: {
    title: "A limit of the agent’s account is still in force",
    allow: "Try again",
    deny: "Discard",
  },
  question: { title: "The agent asks you", allow: "Answer", deny: "Decline" },
  switch_mode: { title: "The agent wants to change its mode", allow: "Allow", deny: "Deny" },
};
const KIND_TITLES: Record<string, string> = {
  edit: "The agent wants to edit a file",
  execute: "The agent wants to run a command",
  read: "The agent wants to read a file",
  delete: "The agent wants to delete a file",
  move: "The agent wants to move a file",
  search: "The agent wants to search",
  fetch: "The agent wants to use the network",
  network: "A program of the agent wants to connect to a host",
};

/** Whether the agent wants to call one of Bough's own tools. */
export const isBoughToolCall = (approval: Pick<Approval, "toolKind">) => approval.toolKind === "call";

export function approvalLabels(approval: Pick<Approval, "toolKind" | "toolCall">): ApprovalLabels {
  if (isBoughToolCall(approval))
    return { title: proposalTitle(proposalOf(approval)), allow: "Approve", deny: "Deny" };
  return (
    OWN_LABELS[approval.toolKind] ?? {
      title: KIND_TITLES[approval.toolKind] ?? "The agent requests permission",
      allow: "Allow",
      deny: "Deny",
    }
  );
}

export interface AnswerOptions {
  /** Several ways to allow, each with its own button; empty if there is only one. */
  alternatives: { optionId: string; name: string }[];
  canAllowAlways: boolean;
  /** How far an "always" may reach. */
  scopes: ("session" | "worktree" | "everywhere")[];
  canGiveReason: boolean;
}

export function answersOf(approval: Approval): AnswerOptions {
  const alternatives = approval.options.filter((option) => option.kind === "allow_once");
  const isOwn = approval.toolKind in OWN_LABELS;
  const canAllowAlways = alternatives.length === 1 && approval.key !== null && !isOwn;
  return {
    alternatives:
      alternatives.length > 1 ? alternatives.map(({ optionId, name }) => ({ optionId, name })) : [],
    canAllowAlways,
    scopes: canAllowAlways ? ["session", "worktree", "everywhere"] : [],
    canGiveReason: !isOwn,
  };
}

const PATH_ARGUMENTS = new Set(["path", "file_path", "filePath"]);
const TEXT_ARGUMENTS = new Set(["text", "content", "new_string", "old_string"]);

/** Whether another detail already shows this argument. Only then may it be left out: nobody should allow what they cannot
 * see. */
function isShownElsewhere(name: string, value: unknown, input: Json, details: readonly Detail[]): boolean {
  return details.some((detail) => {
    if (detail.type === "command")
      return value === (input.command ?? input.cmd) || (name === "cwd" && value === detail.cwd);
    if (detail.type === "paths") return PATH_ARGUMENTS.has(name) && detail.paths.includes(String(value));
    if (detail.type !== "diff") return false;
    if (PATH_ARGUMENTS.has(name)) return detail.path === value;
    const texts = [detail.oldText ?? "", detail.newText];
    return (
      TEXT_ARGUMENTS.has(name) && typeof value === "string" && texts.some((text) => text.includes(value))
    );
  });
}

export function detailsOf({ toolCall }: Pick<Approval, "toolCall">): Detail[] {
  const input = isObject(toolCall.rawInput) ? toolCall.rawInput : {};
  const details: Detail[] = [];
  const command = input.command ?? input.cmd;
  if (typeof command === "string" || Array.isArray(command))
    details.push({
      type: "command",
      text: typeof command === "string" ? command : command.map(String).join(" "),
      cwd: typeof input.cwd === "string" ? input.cwd : null,
    });
  const content = Array.isArray(toolCall.content) ? toolCall.content.filter(isObject) : [];
  for (const block of content) {
    if (block.type === "diff")
      details.push({
        type: "diff",
        path: String(block.path ?? ""),
        oldText: typeof block.oldText === "string" ? block.oldText : null,
        newText: String(block.newText ?? ""),
      });
    else if (block.type === "content" && isObject(block.content) && typeof block.content.text === "string")
      details.push({ type: "text", text: block.content.text });
  }
  const diffPaths = new Set(details.flatMap((detail) => (detail.type === "diff" ? [detail.path] : [])));
  const locations = Array.isArray(toolCall.locations) ? toolCall.locations.filter(isObject) : [];
  const paths = [
    ...new Set(
      locations.map((location) => String(location.path ?? "")).filter((path) => path && !diffPaths.has(path)),
    ),
  ];
  if (paths.length) details.push({ type: "paths", paths });
  const facts = Object.entries(input)
    .filter(
      ([name, value]) => value !== null && value !== "" && !isShownElsewhere(name, value, input, details),
    )
    .map(([name, value]) => ({ name, value: toText(value) }));
  if (facts.length) details.push({ type: "facts", facts });
  return details;
}

/** Replaces the mode's id in the server's reason by its name on the page. */
export const reasonText = (reason: string): string =>
  reason.replace(/^Mode ["“]?([\w-]+)["”]?/, (_, mode: string) => `“${modeName(mode as Mode)}”`);
