/** Converts a proposed session to form values and back. Only the arguments that were changed in the form are replaced. */
import type { Agent, Mode, Preset, Repo, Session, Worktree } from "@/api/types";
import type { DirectoryKind } from "@/views/forms/fields/DirectoryPicker";
import {
  DEFAULT_CALLBACK,
  type Draft,
  defaultMode,
  EMPTY_DRAFT,
  nonEmptyLines,
  type WorkingDirectory,
} from "@/views/forms/state/draft";

export type Arguments = Record<string, unknown>;

/** The fields that the form offers; other arguments stay as proposed. */
export interface ProposalFields {
  prompt: boolean;
  title: boolean;
  repo: boolean;
  agent: boolean;
  mode: boolean;
  model: boolean;
  mcp: boolean;
  files: boolean;
  callback: "none" | "switch" | "all";
  directories: readonly DirectoryKind[];
}

export interface Proposal {
  tool: string;
  arguments: Arguments;
  draft: Draft;
  repoId: string | null;
  fields: ProposalFields;
}

/** The records that a proposal refers to. `session` proposes, `target` is the session that it would prompt. */
export interface ProposalContext {
  session: Session;
  target?: Session;
  repos: readonly Repo[];
  worktrees: readonly Worktree[];
  agents: readonly Agent[];
  presets?: readonly Preset[];
}

const FIELDS: ProposalFields = {
  prompt: true,
  title: true,
  repo: false,
  agent: true,
  mode: true,
  model: false,
  mcp: false,
  files: false,
  callback: "none",
  directories: [],
};

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const list = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
const part = (value: unknown): Arguments => (value && typeof value === "object" ? (value as Arguments) : {});
const flag = (value: unknown, fallback: boolean): boolean => (typeof value === "boolean" ? value : fallback);

/** Agents may shorten ids. */
const isId = (id: string, shortened: string) => id.startsWith(shortened) || id.endsWith(shortened);

/** Describes a proposal as the end of a sentence; `target` is the name of the session to prompt. */
export function describeProposal(tool: string, args: Arguments, target: string): string {
  if (tool === "agor_sessions_spawn") return "wants to spawn a child";
  if (tool !== "agor_sessions_prompt") return "wants to create this session";
  const how: Record<string, string> = {
    fork: `wants to fork “${target}”`,
    subsession: `wants to spawn a child of “${target}”`,
    btw: `wants to ask “${target}” a side question`,
  };
  return how[text(args.mode)] ?? `wants to prompt “${target}”`;
}

export function readProposal(tool: string, args: Arguments, context: ProposalContext): Proposal | null {
  const read = READERS[tool];
  return read ? { tool, arguments: args, ...read(args, context) } : null;
}

const presetOf = (args: Arguments, presets: readonly Preset[] = []): Preset | undefined =>
  presets.find(({ id, name }) => args.preset === name || args.preset === id);

const modeOf = (args: Arguments, preset: Preset | undefined): Mode | undefined =>
  (args.permissionMode as Mode | undefined) ?? preset?.permissionMode ?? undefined;

type Read = (args: Arguments, context: ProposalContext) => Pick<Proposal, "draft" | "repoId" | "fields">;

const READERS: Record<string, Read> = {
  agor_sessions_create(args, { session, repos, worktrees, agents, presets }) {
    const id = text(args.worktreeId);
    const worktree = worktrees.find((worktree) => isId(worktree.id, id));
    const repoId = worktree?.repoId ?? repos.find((repo) => isId(repo.id, id))?.id ?? session.repoId;
    const preset = presetOf(args, presets);
    const agent = text(args.agenticTool) || (preset?.agent ?? "");
    return {
      repoId,
      fields: {
        ...FIELDS,
        repo: true,
        mcp: true,
        files: true,
        callback: "switch",
        directories: ["own", "worktree"],
      },
      draft: {
        ...EMPTY_DRAFT,
        prompt: text(args.initialPrompt),
        title: text(args.title),
        agent,
        mode: modeOf(args, preset) ?? defaultMode(agents, agent),
        directory: worktree ? { kind: "worktree", worktreeId: worktree.id } : { kind: "own" },
        mcpServerIds: list(args.mcpServerIds ?? preset?.mcpServerIds),
        contextFiles: list(args.contextFiles).join("\n"),
        callback: { ...DEFAULT_CALLBACK, enabled: flag(args.enableCallback, false) },
      },
    };
  },
  agor_sessions_spawn(args, { session, worktrees, presets }) {
    const preset = presetOf(args, presets);
    const tuned = part(args.modelConfig);
    const id = text(args.worktreeId);
    const worktree = id ? worktrees.find((worktree) => isId(worktree.id, id)) : undefined;
    return {
      repoId: session.repoId,
      fields: { ...FIELDS, model: true, mcp: true, callback: "all", directories: ["same", "worktree"] },
      draft: {
        ...EMPTY_DRAFT,
        prompt: text(args.prompt),
        title: text(args.title),
        agent: text(args.agenticTool) || (preset ?? session).agent,
        mode: modeOf(args, preset) ?? session.permissionMode,
        directory: worktree ? { kind: "worktree", worktreeId: worktree.id } : { kind: "same" },
        model: text(tuned.model),
        effort: text(tuned.effort),
        mcpServerIds: args.mcpServerIds === undefined ? null : list(args.mcpServerIds),
        callback: {
          enabled: flag(args.enableCallback, true),
          includeLastMessage: flag(args.includeLastMessage, true),
          includeOriginalPrompt: flag(args.includeOriginalPrompt, false),
          extraInstructions: text(args.extraInstructions),
        },
      },
    };
  },
  agor_sessions_prompt(args, { session, target = session, presets }) {
    const preset = presetOf(args, presets);
    const how = text(args.mode);
    const branches = how === "fork" || how === "subsession";
    return {
      repoId: target.repoId,
      fields: {
        ...FIELDS,
        title: how !== "continue",
        agent: branches,
        mode: branches,
        callback: how === "subsession" ? "switch" : "none",
      },
      draft: {
        ...EMPTY_DRAFT,
        prompt: text(args.prompt),
        title: text(args.title),
        agent: text(args.agenticTool) || (preset ?? target).agent,
        mode: modeOf(args, preset) ?? target.permissionMode,
        directory: { kind: "same" },
        callback: { ...DEFAULT_CALLBACK, enabled: flag(args.callback, true) },
      },
    };
  },
  create_session(args, { session, repos, worktrees, agents, presets }) {
    const preset = presetOf(args, presets);
    const folder = text(args.workingDir).replace(/(.)\/+$/, "$1");
    const newWorktree = part(args.worktree);
    const worktree = worktrees.find((worktree) => worktree.path === folder);
    const repo = repos
      .filter(({ path }) => folder === path || folder.startsWith(`${path}/`))
      .sort((a, b) => b.path.length - a.path.length)[0];
    let directory: WorkingDirectory = worktree
      ? { kind: "worktree", worktreeId: worktree.id }
      : { kind: "own" };
    if (args.worktree)
      directory = {
        kind: "new",
        branch: text(newWorktree.branch),
        path: text(newWorktree.path),
        base: "",
        ignored: false,
      };
    return {
      repoId: worktree?.repoId ?? repo?.id ?? null,
      fields: { ...FIELDS, repo: true, callback: "switch", directories: ["own", "worktree", "new"] },
      draft: {
        ...EMPTY_DRAFT,
        prompt: text(args.initialMessage),
        title: text(args.name),
        agent: text(args.agent) || (preset ?? session).agent,
        mode: modeOf(args, preset) ?? (preset ? defaultMode(agents, preset.agent) : "default"),
        directory,
        callback: { ...DEFAULT_CALLBACK, enabled: flag(args.enableCallback, false) },
      },
    };
  },
};

/** Returns the new arguments, or `null` if nothing was changed. */
export function writeProposal(
  before: Proposal,
  draft: Draft,
  repoId: string | null,
  context: Pick<ProposalContext, "repos" | "worktrees">,
): Arguments | null {
  const after: Arguments = { ...before.arguments };
  let changed = false;
  const put = (name: string, value: unknown) => {
    changed = true;
    if (value === undefined || value === "") delete after[name];
    else after[name] = value;
  };
  const differs = (name: keyof Draft) => JSON.stringify(draft[name]) !== JSON.stringify(before.draft[name]);
  const names = ARGUMENTS[before.tool] ?? {};
  for (const [field, name] of Object.entries(names) as [keyof Draft, string][])
    if (differs(field))
      put(name, field === "contextFiles" ? nonEmptyLines(draft.contextFiles) : draft[field]);
  if (before.tool === "agor_sessions_spawn" && (differs("model") || differs("effort"))) {
    const tuned = { model: draft.model.trim() || undefined, effort: draft.effort.trim() || undefined };
    put("modelConfig", tuned.model || tuned.effort ? tuned : undefined);
  }
  if (differs("callback")) callbackOf(before, draft, put);
  if (differs("directory") || repoId !== before.repoId)
    directoryOf(before.tool, draft.directory, repoId, context, put);
  return changed ? after : null;
}

const ARGUMENTS: Record<string, Partial<Record<keyof Draft, string>>> = {
  agor_sessions_create: {
    prompt: "initialPrompt",
    title: "title",
    agent: "agenticTool",
    mode: "permissionMode",
    mcpServerIds: "mcpServerIds",
    contextFiles: "contextFiles",
  },
  agor_sessions_spawn: {
    prompt: "prompt",
    title: "title",
    agent: "agenticTool",
    mode: "permissionMode",
    mcpServerIds: "mcpServerIds",
  },
  agor_sessions_prompt: { prompt: "prompt", title: "title", agent: "agenticTool", mode: "permissionMode" },
  create_session: { prompt: "initialMessage", title: "name", agent: "agent", mode: "permissionMode" },
};

type Put = (name: string, value: unknown) => void;

function callbackOf({ tool, draft: was }: Proposal, { callback }: Draft, put: Put): void {
  const enabled = tool === "agor_sessions_prompt" ? "callback" : "enableCallback";
  if (callback.enabled !== was.callback.enabled) put(enabled, callback.enabled);
  if (tool !== "agor_sessions_spawn") return;
  for (const name of ["includeLastMessage", "includeOriginalPrompt", "extraInstructions"] as const)
    if (callback[name] !== was.callback[name]) put(name, callback[name]);
}

function directoryOf(
  tool: string,
  directory: WorkingDirectory,
  repoId: string | null,
  { repos, worktrees }: Pick<ProposalContext, "repos" | "worktrees">,
  put: Put,
): void {
  const worktreeId = directory.kind === "worktree" ? directory.worktreeId : undefined;
  if (tool === "agor_sessions_spawn") put("worktreeId", worktreeId);
  else if (tool === "agor_sessions_create") put("worktreeId", worktreeId ?? repoId);
  else if (tool === "create_session") {
    const folder = worktreeId
      ? worktrees.find((worktree) => worktree.id === worktreeId)?.path
      : repos.find((repo) => repo.id === repoId)?.path;
    if (folder) put("workingDir", folder);
    put(
      "worktree",
      directory.kind === "new"
        ? { branch: directory.branch.trim(), ...(directory.path.trim() && { path: directory.path.trim() }) }
        : undefined,
    );
  }
}
