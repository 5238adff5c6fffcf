/** Reads a question: what it is about, which answers it takes and in which words. */
import type { Approval, Mode } from "@/api/types";
import { modeName } from "@/lib/words";

export type Part =
  | { type: "command"; text: string; cwd: string | null }
  | { type: "diff"; path: string; oldText: string | null; newText: string }
  | { type: "text"; text: string }
  | { type: "paths"; paths: string[] }
  | { type: "facts"; facts: { name: string; value: string }[] };

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const shown = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** What Bough itself asks, and a change of mode, have words of their own. */
const OWN: Record<string, { about: string; yes: string; no: string }> = {
  interrupted: { about: "The turn was interrupted", yes: "Go on", no: "Drop it" },
  trust: { about: "This repository brings code for the agent", yes: "Run it", no: "Drop the prompt" },
  limit: { about: "This tree has used what it may", yes: "Go on", no: "Drop it" },
  switch_mode: { about: "The agent wants to leave its mode", yes: "Allow", no: "Deny" },
  call: { about: "The agent asks to use one of Bough’s tools", yes: "Approve", no: "Deny" },
};
const KIND: Record<string, string> = {
  edit: "The agent wants to change a file",
  execute: "The agent wants to run a command",
  read: "The agent wants to read",
  delete: "The agent wants to delete",
  move: "The agent wants to move files",
  search: "The agent wants to search",
  fetch: "The agent wants to use the network",
};

export const wordsOf = (approval: Pick<Approval, "toolKind">) =>
  OWN[approval.toolKind] ?? {
    about: KIND[approval.toolKind] ?? "The agent asks for permission",
    yes: "Allow",
    no: "Deny",
  };

export const isCall = (approval: Pick<Approval, "toolKind">) => approval.toolKind === "call";

export interface Answers {
  /** Several ways to allow are answers to a question of another sort: each has its own button. */
  ways: { optionId: string; name: string }[];
  always: boolean;
  /** How far an "always" may reach. */
  scopes: ("session" | "worktree" | "everywhere")[];
  /** Whether a denial can say why. */
  because: boolean;
}

export function answersOf(approval: Approval): Answers {
  const ways = approval.options.filter((one) => one.kind === "allow_once");
  const own = approval.toolKind in OWN;
  const always = ways.length === 1 && approval.key !== null && (isCall(approval) || !own);
  return {
    ways: ways.length > 1 ? ways.map(({ optionId, name }) => ({ optionId, name })) : [],
    always,
    scopes: always ? ["session", "worktree", "everywhere"] : [],
    because: !own || isCall(approval),
  };
}

const PATHS = new Set(["path", "file_path", "filePath"]);
const TEXTS = new Set(["text", "content", "new_string", "old_string"]);

/** Whether another part says this argument already. Only then is it left out: nobody should allow what was not shown. */
function isTold(name: string, value: unknown, input: Json, parts: readonly Part[]): boolean {
  return parts.some((part) => {
    if (part.type === "command")
      return value === (input.command ?? input.cmd) || (name === "cwd" && value === part.cwd);
    if (part.type === "paths") return PATHS.has(name) && part.paths.includes(String(value));
    if (part.type !== "diff") return false;
    if (PATHS.has(name)) return part.path === value;
    const texts = [part.oldText ?? "", part.newText];
    return TEXTS.has(name) && typeof value === "string" && texts.some((one) => one.includes(value));
  });
}

export function partsOf(approval: Pick<Approval, "toolKind" | "toolCall" | "title">): Part[] {
  const { toolCall } = approval;
  const input = isObject(toolCall.rawInput) ? toolCall.rawInput : {};
  const parts: Part[] = [];
  const command = input.command ?? input.cmd;
  if (typeof command === "string" || Array.isArray(command))
    parts.push({
      type: "command",
      text: typeof command === "string" ? command : command.map(String).join(" "),
      cwd: typeof input.cwd === "string" ? input.cwd : null,
    });
  const content = Array.isArray(toolCall.content) ? toolCall.content.filter(isObject) : [];
  for (const one of content) {
    if (one.type === "diff")
      parts.push({
        type: "diff",
        path: String(one.path ?? ""),
        oldText: typeof one.oldText === "string" ? one.oldText : null,
        newText: String(one.newText ?? ""),
      });
    else if (one.type === "content" && isObject(one.content) && typeof one.content.text === "string")
      parts.push({ type: "text", text: one.content.text });
  }
  const diffs = new Set(parts.flatMap((part) => (part.type === "diff" ? [part.path] : [])));
  const places = Array.isArray(toolCall.locations) ? toolCall.locations.filter(isObject) : [];
  const paths = [
    ...new Set(places.map((one) => String(one.path ?? "")).filter((path) => path && !diffs.has(path))),
  ];
  if (paths.length) parts.push({ type: "paths", paths });
  const facts = Object.entries(input)
    .filter(([name, value]) => value !== null && value !== "" && !isTold(name, value, input, parts))
    .map(([name, value]) => ({ name, value: shown(value) }));
  if (facts.length) parts.push({ type: "facts", facts });
  return parts;
}

/** Paths inside the folder without it: they are what tells one from another. */
export function inFolder(text: string, cwd?: string): string {
  if (!cwd) return text;
  // Not in the middle of another path: `/tmp/w/a` is none of the folder `/w`.
  return text
    .split(`${cwd}/`)
    .reduce((before, after) => (/[\w./~-]$/.test(before) ? `${before}${cwd}/${after}` : before + after));
}

/** Why it is asked, with modes called as everywhere on the page. */
export const inWords = (reason: string): string =>
  reason.replace(/^Mode (\S+) asks/, (_, mode: string) => `The mode “${modeName(mode as Mode)}” asks`);
