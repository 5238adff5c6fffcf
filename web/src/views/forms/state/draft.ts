/** The values of a session form, and the requests made from them. Fork and spawn requests omit unchanged values, which the
 * server then inherits. */
import type { Agent, Branch, Mode, NewSession, Session } from "@/api/types";
import { type AttachedFile, toPromptFiles } from "@/views/session/composer/attachments";

export type WorkingDirectory =
  /** The folder of the session that is forked or spawned from. */
  | { kind: "same" }
  /** The repository's main folder. */
  | { kind: "own" }
  | { kind: "worktree"; worktreeId: string }
  | { kind: "new"; branch: string; path: string; base: string; ignored: boolean };

export const NEW_WORKTREE: WorkingDirectory = { kind: "new", branch: "", path: "", base: "", ignored: false };

/** A variable; `id` tells rows apart, and is the name of a variable that the server has stored. */
export interface EnvLine {
  id: string;
  name: string;
  value: string;
}

export interface CallbackChoice {
  enabled: boolean;
  includeLastMessage: boolean;
  includeOriginalPrompt: boolean;
  extraInstructions: string;
}

export const DEFAULT_CALLBACK: CallbackChoice = {
  enabled: true,
  includeLastMessage: true,
  includeOriginalPrompt: false,
  extraInstructions: "",
};

export type UnattendedAnswer = "wait" | "deny" | "allow" | null;

/** `null` uses the repo's or the server's setting. */
export type SandboxChoice = "off" | "auto" | "required" | null;

export type SandboxProfile = "workspace" | "strict" | null;

export interface Draft {
  prompt: string;
  files: AttachedFile[];
  title: string;
  /** The id of the preset that the session starts from, or empty. */
  preset: string;
  agent: string | null;
  mode: Mode | null;
  directory: WorkingDirectory;
  model: string;
  effort: string;
  /** `null` inherits. */
  mcpServerIds: string[] | null;
  env: EnvLine[] | null;
  contextFiles: string;
  callback: CallbackChoice;
  headless: UnattendedAnswer;
  /** Minutes as typed; empty for the inherited ones. */
  approvalTimeout: string;
  sandbox: SandboxChoice;
  sandboxProfile: SandboxProfile;
}

export const EMPTY_DRAFT: Draft = {
  prompt: "",
  files: [],
  title: "",
  preset: "",
  agent: null,
  mode: null,
  directory: { kind: "own" },
  model: "",
  effort: "",
  mcpServerIds: null,
  env: null,
  contextFiles: "",
  callback: DEFAULT_CALLBACK,
  headless: null,
  approvalTimeout: "",
  sandbox: null,
  sandboxProfile: null,
};

/** Returns the minutes of a timeout as typed; null if they are left to the server or the session above. */
export const minutesOf = (typed: string): number | null => (Number(typed) > 0 ? Number(typed) : null);

/** Returns an agent's default mode. */
export const defaultMode = (agents: readonly Agent[] | undefined, name: string | null): Mode =>
  agents?.find((agent) => agent.name === name)?.defaultMode ?? "acceptEdits";

/** Returns the values with which a fork or spawn form opens. */
export const draftFromSession = (session: Session): Draft => ({
  ...EMPTY_DRAFT,
  agent: session.agent,
  mode: session.permissionMode,
  directory: { kind: "same" },
  model: session.model ?? "",
  effort: session.effort ?? "",
});

export const nonEmptyLines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

const envOf = (env: EnvLine[]): Record<string, string> =>
  Object.fromEntries(env.filter((line) => line.name.trim()).map((line) => [line.name.trim(), line.value]));

const optional = (text: string): string | undefined => text.trim() || undefined;

const callbackOf = (choice: CallbackChoice) => ({
  enabled: choice.enabled,
  includeLastMessage: choice.includeLastMessage,
  includeOriginalPrompt: choice.includeOriginalPrompt,
  extraInstructions: optional(choice.extraInstructions) ?? null,
});

export function toNewSession(draft: Draft, repoId: string): NewSession {
  const { directory } = draft;
  return {
    ...(directory.kind === "worktree" ? { worktreeId: directory.worktreeId } : { repoId }),
    ...(directory.kind === "new" && {
      worktree: {
        branch: directory.branch.trim(),
        path: optional(directory.path),
        base: optional(directory.base),
      },
    }),
    preset: optional(draft.preset),
    agent: draft.agent,
    permissionMode: draft.mode ?? undefined,
    title: draft.title.trim(),
    initialPrompt: optional(draft.prompt),
    files: draft.files.length ? toPromptFiles(draft.files) : undefined,
    model: optional(draft.model),
    effort: optional(draft.effort),
    mcpServerIds: draft.mcpServerIds ?? undefined,
    env: draft.env ? envOf(draft.env) : undefined,
    contextFiles: draft.contextFiles.trim() ? nonEmptyLines(draft.contextFiles) : undefined,
    headless: draft.headless ?? undefined,
    approvalTimeout: minutesOf(draft.approvalTimeout) ?? undefined,
    sandbox: draft.sandbox ?? undefined,
    sandboxProfile: draft.sandboxProfile ?? undefined,
  };
}

export function toBranch(draft: Draft, session: Session, kind: "fork" | "spawn", taskId?: string): Branch {
  const { directory } = draft;
  const changed = (now: string, was: string | null) =>
    now.trim() === (was ?? "") ? undefined : optional(now);
  const inherits = draft.agent === session.agent && !draft.preset;
  return {
    prompt: optional(draft.prompt),
    files: draft.files.length ? toPromptFiles(draft.files) : undefined,
    title: optional(draft.title),
    preset: optional(draft.preset),
    // What equals the session's is inherited, but a preset would count before it.
    agent: draft.agent === session.agent && !draft.preset ? undefined : draft.agent,
    permissionMode: draft.mode === session.permissionMode && !draft.preset ? undefined : draft.mode,
    model: inherits ? changed(draft.model, session.model) : optional(draft.model),
    effort: inherits ? changed(draft.effort, session.effort) : optional(draft.effort),
    taskId: kind === "fork" ? taskId : undefined,
    ...worktreeOf(directory),
    mcpServerIds: draft.mcpServerIds ?? undefined,
    env: draft.env ? envOf(draft.env) : undefined,
    callback: kind === "spawn" ? callbackOf(draft.callback) : undefined,
    headless: draft.headless ?? undefined,
    approvalTimeout: minutesOf(draft.approvalTimeout) ?? undefined,
  };
}

function worktreeOf(directory: WorkingDirectory): Pick<Branch, "worktree" | "worktreeId"> {
  if (directory.kind === "worktree") return { worktreeId: directory.worktreeId };
  if (directory.kind !== "new") return {};
  const branch = optional(directory.branch);
  const path = optional(directory.path);
  if (!branch && !path && !directory.ignored) return { worktree: "new" };
  return { worktree: { branch, path, ignored: directory.ignored || undefined } };
}
