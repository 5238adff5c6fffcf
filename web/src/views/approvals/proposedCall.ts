/** Describes a call of one of Bough's own tools that an agent proposes, and which of its arguments a person may edit. */
import type { Approval, Mode } from "@/api/types";
import { modeName } from "@/lib/words";

export interface Proposal {
  tool: string;
  arguments: Record<string, unknown>;
}

export function proposalOf(approval: Pick<Approval, "toolCall">): Proposal {
  const { tool, arguments: args } = approval.toolCall;
  return {
    tool: typeof tool === "string" ? tool : "",
    arguments: args && typeof args === "object" && !Array.isArray(args) ? { ...args } : {},
  };
}

const TITLES: Record<string, string> = {
  create_session: "The agent wants to start a session",
  send_to_session: "The agent wants to prompt a session",
  agor_sessions_create: "The agent wants to start a session",
  agor_sessions_spawn: "The agent wants to start a child session",
  agor_sessions_update: "The agent wants to change a session",
  agor_sessions_stop: "The agent wants to stop a session",
  agor_worktrees_create: "The agent wants to create a worktree",
  agor_worktrees_update: "The agent wants to change a worktree",
};
const PROMPT_TITLES: Record<string, string> = {
  continue: "The agent wants to prompt a session",
  fork: "The agent wants to fork a session",
  subsession: "The agent wants to start a child session",
  btw: "The agent wants to ask a side question",
};

/** Names the act that the agent proposes. */
export function proposalTitle({ tool, arguments: args }: Proposal): string {
  const title = tool === "agor_sessions_prompt" ? PROMPT_TITLES[String(args.mode)] : TITLES[tool];
  return title ?? "The agent wants to use a Bough tool";
}

/** Whether the tool creates a session: its arguments are edited in the form of a new session. */
export const createsSession = (tool: string) =>
  tool === "agor_sessions_create" || tool === "agor_sessions_spawn" || tool === "create_session";

const LABELS: Record<string, string> = {
  prompt: "Prompt",
  initialPrompt: "Prompt",
  initialMessage: "Prompt",
  message: "Prompt",
  workingDir: "Folder",
  worktree: "New worktree",
  agent: "Agent",
  enableCallback: "Reports back",
  title: "Title",
  description: "Description",
  agenticTool: "Agent",
  permissionMode: "Mode",
  mode: "Action",
  sessionId: "Session",
  worktreeId: "Worktree",
  repoId: "Repository",
  branch: "Branch",
  name: "Name",
  ref: "Base",
  notes: "Notes",
  status: "Status",
  extraInstructions: "Extra instructions",
};
const PROMPT_ACTIONS: Record<string, string> = {
  continue: "Send a prompt",
  fork: "Fork",
  subsession: "Spawn a child",
  btw: "Side question",
};

const PROMPTS = new Set(["prompt", "initialPrompt", "initialMessage", "message"]);

export interface ArgumentFact {
  name: string;
  label: string;
  value: string;
  long: boolean;
}

const valueText = (name: string, value: unknown): string => {
  if (name === "permissionMode") return modeName(value as Mode);
  if (name === "mode") return PROMPT_ACTIONS[String(value)] ?? String(value);
  if (name === "worktree" && value && typeof value === "object") {
    const { branch, path } = value as { branch?: unknown; path?: unknown };
    if (typeof branch === "string") return path ? `branch ${branch} in ${path}` : `branch ${branch}`;
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
};

const labelOf = (name: string) =>
  LABELS[name] ??
  name
    .replace(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/^./, (letter) => letter.toUpperCase());

/** Returns the arguments that are set, with labels and readable values. */
export const factsOf = (proposal: Proposal): ArgumentFact[] =>
  Object.entries(proposal.arguments)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => ({
      name,
      label: labelOf(name),
      value: valueText(name, value),
      long: PROMPTS.has(name) || String(value).length > 80,
    }));

export interface EditableArgument {
  name: string;
  label: string;
  kind: "line" | "text" | "agent" | "mode";
}

const KINDS: Record<string, EditableArgument["kind"]> = {
  prompt: "text",
  initialPrompt: "text",
  message: "text",
  description: "text",
  notes: "text",
  extraInstructions: "text",
  title: "line",
  name: "line",
  branch: "line",
  agenticTool: "agent",
  permissionMode: "mode",
};

/** Returns the arguments that can be edited in place: texts, agent and mode. A fork or child also gets the fields that the
 * agent left out. */
export function editableArguments({ tool, arguments: args }: Proposal): EditableArgument[] {
  const branches = tool === "agor_sessions_prompt" && args.mode !== "continue";
  const names = new Set([
    ...Object.keys(args).filter(
      (name) => name in KINDS && (args[name] === null || typeof args[name] === "string"),
    ),
    ...(branches ? ["title", ...(args.mode === "btw" ? [] : ["agenticTool", "permissionMode"])] : []),
  ]);
  return [...names].map((name) => ({ name, label: labelOf(name), kind: KINDS[name]! }));
}

/** Returns the arguments with the edited values; emptied fields are left out. */
export function withEdits(proposal: Proposal, edits: Record<string, string>): Record<string, unknown> {
  const edited: Record<string, unknown> = { ...proposal.arguments };
  for (const [name, value] of Object.entries(edits)) {
    if (value.trim()) edited[name] = value;
    else delete edited[name];
  }
  return edited;
}
