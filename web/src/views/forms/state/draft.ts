/** What a form about a session holds while it is filled in, and what the server is told of it. What was not changed in a
 * form about a branch is left out: the server inherits it. */
import type { Branch, Mode, NewSession, Session } from "@/api/types";
import { type AttachedFile, toPromptFiles } from "@/views/session/composer/attachments";

export type Place =
  /** Where the session works that is branched from. */
  | { kind: "same" }
  /** The repository's own folder. */
  | { kind: "own" }
  | { kind: "worktree"; worktreeId: string }
  | { kind: "new"; branch: string; path: string; base: string; ignored: boolean };

export const NEW_PLACE: Place = { kind: "new", branch: "", path: "", base: "", ignored: false };

export interface EnvLine {
  name: string;
  value: string;
}

export interface CallbackChoice {
  enabled: boolean;
  includeLastMessage: boolean;
  includeOriginalPrompt: boolean;
  extraInstructions: string;
}

export const CALLBACK: CallbackChoice = {
  enabled: true,
  includeLastMessage: true,
  includeOriginalPrompt: false,
  extraInstructions: "",
};

export type Headless = "wait" | "deny" | "allow" | null;

export interface Draft {
  prompt: string;
  files: AttachedFile[];
  title: string;
  agent: string | null;
  mode: Mode | null;
  place: Place;
  model: string;
  effort: string;
  /** `null` inherits. */
  mcpServerIds: string[] | null;
  env: EnvLine[] | null;
  contextFiles: string;
  callback: CallbackChoice;
  headless: Headless;
}

export const EMPTY: Draft = {
  prompt: "",
  files: [],
  title: "",
  agent: null,
  mode: null,
  place: { kind: "own" },
  model: "",
  effort: "",
  mcpServerIds: null,
  env: null,
  contextFiles: "",
  callback: CALLBACK,
  headless: null,
};

/** The mode of a session for which none is chosen, as the server has it. */
export const defaultMode = (agent: string | null): Mode => (agent === "codex" ? "auto" : "acceptEdits");

/** A form about a branch begins with what the session has. */
export const fromSession = (session: Session): Draft => ({
  ...EMPTY,
  agent: session.agent,
  mode: session.permissionMode,
  place: { kind: "same" },
  model: session.model ?? "",
  effort: session.effort ?? "",
});

export const lines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

const envOf = (env: EnvLine[]): Record<string, string> =>
  Object.fromEntries(env.filter((line) => line.name.trim()).map((line) => [line.name.trim(), line.value]));

const said = (text: string): string | undefined => text.trim() || undefined;

const callbackOf = (choice: CallbackChoice) => ({
  enabled: choice.enabled,
  includeLastMessage: choice.includeLastMessage,
  includeOriginalPrompt: choice.includeOriginalPrompt,
  extraInstructions: said(choice.extraInstructions) ?? null,
});

export function toNewSession(draft: Draft, repoId: string): NewSession {
  const { place } = draft;
  return {
    ...(place.kind === "worktree" ? { worktreeId: place.worktreeId } : { repoId }),
    ...(place.kind === "new" && {
      worktree: { branch: place.branch.trim(), path: said(place.path), base: said(place.base) },
    }),
    agent: draft.agent,
    permissionMode: draft.mode ?? defaultMode(draft.agent),
    title: draft.title.trim(),
    initialPrompt: said(draft.prompt),
    files: draft.files.length ? toPromptFiles(draft.files) : undefined,
    model: said(draft.model),
    effort: said(draft.effort),
    mcpServerIds: draft.mcpServerIds ?? undefined,
    env: draft.env ? envOf(draft.env) : undefined,
    contextFiles: draft.contextFiles.trim() ? lines(draft.contextFiles) : undefined,
    headless: draft.headless ?? undefined,
  };
}

export function toBranch(draft: Draft, session: Session, kind: "fork" | "spawn", taskId?: string): Branch {
  const { place } = draft;
  const changed = (now: string, was: string | null) => (now.trim() === (was ?? "") ? undefined : said(now));
  return {
    prompt: said(draft.prompt),
    files: draft.files.length ? toPromptFiles(draft.files) : undefined,
    title: said(draft.title),
    agent: draft.agent === session.agent ? undefined : draft.agent,
    permissionMode: draft.mode === session.permissionMode ? undefined : draft.mode,
    model: draft.agent === session.agent ? changed(draft.model, session.model) : said(draft.model),
    effort: draft.agent === session.agent ? changed(draft.effort, session.effort) : said(draft.effort),
    taskId: kind === "fork" ? taskId : undefined,
    ...worktreeOf(place),
    mcpServerIds: draft.mcpServerIds ?? undefined,
    env: draft.env ? envOf(draft.env) : undefined,
    callback: kind === "spawn" ? callbackOf(draft.callback) : undefined,
    headless: draft.headless ?? undefined,
  };
}

function worktreeOf(place: Place): Pick<Branch, "worktree" | "worktreeId"> {
  if (place.kind === "worktree") return { worktreeId: place.worktreeId };
  if (place.kind !== "new") return {};
  const branch = said(place.branch);
  const path = said(place.path);
  if (!branch && !path && !place.ignored) return { worktree: "new" };
  return { worktree: { branch, path, ignored: place.ignored || undefined } };
}
