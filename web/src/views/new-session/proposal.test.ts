/** A proposal becomes a form, and only changed values go back. */
import { describe, expect, it } from "vitest";
import type { Agent, Repo, Session, Worktree } from "@/api/types";
import { describeProposal, type ProposalContext, readProposal, writeProposal } from "./proposal";

const session = {
  id: "s1",
  repoId: "repo-0001-aaaa",
  agent: "demo",
  permissionMode: "acceptEdits",
  worktreeId: null,
} as unknown as Session;
const repos = [
  { id: "repo-0001-aaaa", path: "/w/shop" },
  { id: "repo-0002-bbbb", path: "/w/shop/inner" },
] as Repo[];
const worktrees = [
  { id: "tree-0001-aaaa", repoId: "repo-0001-aaaa", path: "/w/shop/.worktrees/login" },
] as Worktree[];
const agents = [{ name: "codex", defaultMode: "auto" }] as Agent[];
const context: ProposalContext = { session, repos, worktrees, agents };

const read = (tool: string, args: Record<string, unknown>, more: Partial<ProposalContext> = {}) => {
  const item = readProposal(tool, args, { ...context, ...more });
  if (!item) throw new Error(`${tool} is no proposal`);
  return item;
};

describe("agor_sessions_create", () => {
  const args = { worktreeId: "tree-0001", agenticTool: "codex", title: "auth", initialPrompt: "Build it." };

  it("fills the form, with a worktree by a part of its id and the agent's own default mode", () => {
    const { draft, repoId } = read("agor_sessions_create", args);
    expect(draft.directory).toEqual({ kind: "worktree", worktreeId: "tree-0001-aaaa" });
    expect(repoId).toBe("repo-0001-aaaa");
    expect(draft).toMatchObject({ prompt: "Build it.", title: "auth", agent: "codex", mode: "auto" });
    expect(draft.callback.enabled).toBe(false);
  });

  it("is unchanged if the form is", () => {
    const proposal = read("agor_sessions_create", args);
    expect(writeProposal(proposal, { ...proposal.draft }, proposal.repoId, context)).toBeNull();
  });

  it("keeps untouched arguments, and names a repository's main folder by its id", () => {
    const proposal = read("agor_sessions_create", { ...args, description: "kept", idempotencyKey: "k" });
    const draft = { ...proposal.draft, mode: "plan" as const, directory: { kind: "own" as const } };
    expect(writeProposal(proposal, draft, proposal.repoId, context)).toEqual({
      ...args,
      description: "kept",
      idempotencyKey: "k",
      permissionMode: "plan",
      worktreeId: "repo-0001-aaaa",
    });
  });

  it("drops emptied arguments", () => {
    const proposal = read("agor_sessions_create", args);
    const after = writeProposal(proposal, { ...proposal.draft, title: "" }, proposal.repoId, context);
    expect(after).not.toHaveProperty("title");
  });
});

describe("agor_sessions_spawn", () => {
  it("inherits from the proposing session, and writes model and callback as the tool expects them", () => {
    const proposal = read("agor_sessions_spawn", { prompt: "Test it." });
    expect(proposal.draft).toMatchObject({ agent: "demo", mode: "acceptEdits", directory: { kind: "same" } });
    const draft = {
      ...proposal.draft,
      model: "demo-large",
      callback: { ...proposal.draft.callback, enabled: false, extraInstructions: "Short." },
    };
    expect(writeProposal(proposal, draft, proposal.repoId, context)).toEqual({
      prompt: "Test it.",
      modelConfig: { model: "demo-large" },
      enableCallback: false,
      extraInstructions: "Short.",
    });
  });

  it("omits the worktree when the same folder is chosen instead", () => {
    const proposal = read("agor_sessions_spawn", { prompt: "x", worktreeId: "tree-0001-aaaa" });
    const after = writeProposal(
      proposal,
      { ...proposal.draft, directory: { kind: "same" } },
      proposal.repoId,
      context,
    );
    expect(after).toEqual({ prompt: "x" });
  });
});

describe("agor_sessions_prompt", () => {
  it("asks only for the prompt when a session is continued", () => {
    const { fields } = read("agor_sessions_prompt", { sessionId: "s2", mode: "continue", prompt: "go" });
    expect(fields).toMatchObject({ prompt: true, title: false, agent: false, mode: false, callback: "none" });
  });

  it("takes the agent and mode of the session to fork", () => {
    const target = { ...session, id: "s2", agent: "codex", permissionMode: "plan" } as Session;
    const args = { sessionId: "s2", mode: "fork", prompt: "go" };
    const proposal = read("agor_sessions_prompt", args, { target });
    expect(proposal.draft).toMatchObject({ agent: "codex", mode: "plan" });
    const after = writeProposal(proposal, { ...proposal.draft, agent: "demo" }, proposal.repoId, context);
    expect(after).toEqual({ ...args, agenticTool: "demo" });
  });
});

describe("create_session", () => {
  const args = { name: "search", workingDir: "/w/shop/inner/", worktree: { branch: "feature/search" } };

  it("finds the innermost repository of its folder, and the worktree to create", () => {
    const proposal = read("create_session", args);
    expect(proposal.repoId).toBe("repo-0002-bbbb");
    expect(proposal.draft).toMatchObject({ title: "search", mode: "default", agent: "demo" });
    expect(proposal.draft.directory).toMatchObject({ kind: "new", branch: "feature/search" });
  });

  it("reports only if it was asked to", () => {
    const proposal = read("create_session", args);
    expect(proposal.fields.callback).toBe("switch");
    expect(proposal.draft.callback.enabled).toBe(false);
    const asked = { ...proposal.draft, callback: { ...proposal.draft.callback, enabled: true } };
    expect(writeProposal(proposal, asked, proposal.repoId, context)).toEqual({
      ...args,
      enableCallback: true,
    });
  });

  it("writes another branch, or none", () => {
    const proposal = read("create_session", args);
    const other = {
      ...proposal.draft,
      directory: { ...proposal.draft.directory, branch: "find" } as typeof proposal.draft.directory,
    };
    expect(writeProposal(proposal, other, proposal.repoId, context)).toMatchObject({
      worktree: { branch: "find" },
    });
    const none = writeProposal(
      proposal,
      { ...proposal.draft, directory: { kind: "own" } },
      proposal.repoId,
      context,
    );
    expect(none).toEqual({ name: "search", workingDir: "/w/shop/inner" });
  });
});

it("describes proposals", () => {
  expect(describeProposal("agor_sessions_create", {}, "X")).toBe("wants to create this session");
  expect(describeProposal("agor_sessions_prompt", { mode: "fork" }, "X")).toBe("wants to fork “X”");
  expect(describeProposal("agor_sessions_prompt", { mode: "continue" }, "X")).toBe("wants to prompt “X”");
});

it("finds no proposal in calls of other tools", () => {
  expect(readProposal("agor_sessions_stop", {}, context)).toBeNull();
});
