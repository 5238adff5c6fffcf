/** The requests made from forms: unchanged values are omitted. */
import { describe, expect, it } from "vitest";
import type { Session } from "@/api/types";
import { draftFromSession, EMPTY_DRAFT, NEW_WORKTREE, toBranch, toNewSession } from "./draft";

const session = {
  id: "s",
  agent: "demo",
  permissionMode: "acceptEdits",
  model: "demo-small",
  effort: null,
} as Session;
/** As it goes over the wire, without undefined values. */
const sent = (body: unknown) => JSON.parse(JSON.stringify(body));

describe("toNewSession", () => {
  it("opens in the repository's main folder, in the agent's default mode", () => {
    expect(sent(toNewSession({ ...EMPTY_DRAFT, agent: "codex", prompt: " go " }, "r"))).toEqual({
      repoId: "r",
      agent: "codex",
      title: "",
      initialPrompt: "go",
    });
  });

  it("sends a worktree instead of its repository", () => {
    const body = toNewSession({ ...EMPTY_DRAFT, directory: { kind: "worktree", worktreeId: "w" } }, "r");
    expect(sent(body)).toMatchObject({ worktreeId: "w" });
    expect(sent(body)).not.toHaveProperty("repoId");
  });

  it("asks for a new worktree", () => {
    const directory = { ...NEW_WORKTREE, branch: " feature/x ", base: "main" } as typeof NEW_WORKTREE;
    expect(sent(toNewSession({ ...EMPTY_DRAFT, directory }, "r"))).toMatchObject({
      repoId: "r",
      worktree: { branch: "feature/x", base: "main" },
    });
  });

  it("sends variables and files", () => {
    const draft = {
      ...EMPTY_DRAFT,
      env: [
        { id: "1", name: "A", value: "1" },
        { id: "2", name: " ", value: "lost" },
      ],
      contextFiles: "a.md\n\n b.md ",
    };
    expect(sent(toNewSession(draft, "r"))).toMatchObject({ env: { A: "1" }, contextFiles: ["a.md", "b.md"] });
  });
});

describe("toBranch", () => {
  it("omits what was not changed", () => {
    const draft = { ...draftFromSession(session), prompt: "go" };
    expect(sent(toBranch(draft, session, "fork", "t"))).toEqual({ prompt: "go", taskId: "t" });
  });

  it("does not send the model of one agent to another", () => {
    const draft = { ...draftFromSession(session), agent: "codex", model: "" };
    expect(sent(toBranch(draft, session, "fork"))).toEqual({ agent: "codex" });
  });

  it("sends `new` for a worktree without details", () => {
    const draft = { ...draftFromSession(session), directory: NEW_WORKTREE };
    expect(sent(toBranch(draft, session, "fork")).worktree).toBe("new");
    const other = { ...draft, directory: { ...NEW_WORKTREE, ignored: true } as typeof NEW_WORKTREE };
    expect(sent(toBranch(other, session, "fork")).worktree).toEqual({ ignored: true });
  });

  it("sends the callback of a child, not of a fork", () => {
    const draft = draftFromSession(session);
    expect(sent(toBranch(draft, session, "spawn")).callback).toMatchObject({ enabled: true });
    expect(sent(toBranch(draft, session, "fork"))).not.toHaveProperty("callback");
  });
});
