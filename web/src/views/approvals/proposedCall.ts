/** What an agent proposes through Bough's own tools: its arguments in words, and which of them a person may change. */
import type { Approval, Mode } from "@/api/types";
import { modeName } from "@/lib/words";

export interface Proposal {
  tool: string;
  arguments: Record<string, unknown>;
}

export function proposalOf(approval: Pick<Approval, "toolCall">): Proposal {
  const { tool, arguments: given } = approval.toolCall;
  return {
    tool: typeof tool === "string" ? tool : "",
    arguments: given && typeof given === "object" && !Array.isArray(given) ? { ...given } : {},
  };
}

/** Tools that make a session from nothing or beside this one: changed in the form of a new session. */
export const makesSession = (tool: string) =>
  tool === "agor_sessions_create" || tool === "agor_sessions_spawn";

const NAMES: Record<string, string> = {
  prompt: "Prompt",
  initialPrompt: "Prompt",
  title: "Title",
  description: "Description",
  agenticTool: "Agent",
  permissionMode: "Mode",
  mode: "How",
  sessionId: "Session",
  worktreeId: "Worktree",
  repoId: "Repository",
  branch: "Branch",
  name: "Name",
  ref: "From",
  notes: "Notes",
  status: "Status",
  extraInstructions: "Extra instructions",
};
const HOW: Record<string, string> = {
  continue: "Prompt it",
  fork: "Fork it",
  subsession: "Spawn a child of it",
  btw: "Ask it aside",
};

export interface Fact {
  name: string;
  label: string;
  value: string;
  long: boolean;
}

const inWords = (name: string, value: unknown): string => {
  if (name === "permissionMode") return modeName(value as Mode);
  if (name === "mode") return HOW[String(value)] ?? String(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
};

const label = (name: string) =>
  NAMES[name] ??
  name
    .replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/^./, (letter) => letter.toUpperCase());

export const factsOf = ({ arguments: given }: Proposal): Fact[] =>
  Object.entries(given)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => ({
      name,
      label: label(name),
      value: inWords(name, value),
      long: name === "prompt" || name === "initialPrompt" || String(value).length > 80,
    }));

export interface CallField {
  name: string;
  label: string;
  kind: "line" | "text" | "agent" | "mode";
}

const KINDS: Record<string, CallField["kind"]> = {
  prompt: "text",
  initialPrompt: "text",
  description: "text",
  notes: "text",
  extraInstructions: "text",
  title: "line",
  name: "line",
  branch: "line",
  agenticTool: "agent",
  permissionMode: "mode",
};

/** What of a call can be changed in place: its texts, its agent, its mode. A branch may get an agent and a mode as well. */
export function fieldsOf({ tool, arguments: given }: Proposal): CallField[] {
  const branches = tool === "agor_sessions_prompt" && given.mode !== "continue";
  const names = new Set([
    ...Object.keys(given).filter(
      (name) => name in KINDS && (given[name] === null || typeof given[name] === "string"),
    ),
    ...(branches ? ["title", ...(given.mode === "btw" ? [] : ["agenticTool", "permissionMode"])] : []),
  ]);
  return [...names].map((name) => ({ name, label: label(name), kind: KINDS[name]! }));
}

/** The arguments with what was typed; an emptied field that was not asked for is left out. */
export function changedArguments(proposal: Proposal, typed: Record<string, string>): Record<string, unknown> {
  const after: Record<string, unknown> = { ...proposal.arguments };
  for (const [name, value] of Object.entries(typed)) {
    if (value.trim()) after[name] = value;
    else delete after[name];
  }
  return after;
}
