/** What the server is told of a form: what was not changed is left to it. */
import { describe, expect, it } from "vitest";
import type { Session } from "@/api/types";
import { EMPTY, fromSession, NEW_PLACE, toBranch, toNewSession } from "./draft";

const session = {
  id: "s",
  agent: "demo",
  permissionMode: "acceptEdits",
  model: "demo-small",
  effort: null,
} as Session;
/** As it goes over the wire: what is undefined is not there. */
const sent = (body: unknown) => JSON.parse(JSON.stringify(body));

describe("toNewSession", () => {
  it("opens in the repository's own folder, in the agent's own mode", () => {
    expect(sent(toNewSession({ ...EMPTY, agent: "codex", prompt: " go " }, "r"))).toEqual({
      repoId: "r",
      agent: "codex",
      permissionMode: "auto",
      title: "",
      initialPrompt: "go",
    });
  });

  it("names a worktree instead of its repository", () => {
    const body = toNewSession({ ...EMPTY, place: { kind: "worktree", worktreeId: "w" } }, "r");
    expect(sent(body)).toMatchObject({ worktreeId: "w" });
    expect(sent(body)).not.toHaveProperty("repoId");
  });

  it("asks for a new worktree, with what was said of it", () => {
    const place = { ...NEW_PLACE, branch: " feature/x ", base: "main" } as typeof NEW_PLACE;
    expect(sent(toNewSession({ ...EMPTY, place }, "r"))).toMatchObject({
      repoId: "r",
      worktree: { branch: "feature/x", base: "main" },
    });
  });

  it("sends variables and files only if there are some", () => {
    const draft = {
      ...EMPTY,
      env: [
        { name: "A", value: "1" },
        { name: " ", value: "lost" },
      ],
      contextFiles: "a.md\n\n b.md ",
    };
    expect(sent(toNewSession(draft, "r"))).toMatchObject({ env: { A: "1" }, contextFiles: ["a.md", "b.md"] });
  });
});

describe("toBranch", () => {
  it("inherits all that was not changed", () => {
    const draft = { ...fromSession(session), prompt: "go" };
    expect(sent(toBranch(draft, session, "fork", "t"))).toEqual({ prompt: "go", taskId: "t" });
  });

  it("does not take the model of one agent to another", () => {
    const draft = { ...fromSession(session), agent: "codex", model: "" };
    expect(sent(toBranch(draft, session, "fork"))).toEqual({ agent: "codex" });
  });

  it("says `new` when the worktree is left to Bough, and what is wanted otherwise", () => {
    const draft = { ...fromSession(session), place: NEW_PLACE };
    expect(sent(toBranch(draft, session, "fork")).worktree).toBe("new");
    const other = { ...draft, place: { ...NEW_PLACE, ignored: true } as typeof NEW_PLACE };
    expect(sent(toBranch(other, session, "fork")).worktree).toEqual({ ignored: true });
  });

  it("tells a child whether it reports, a fork nothing of it", () => {
    const draft = fromSession(session);
    expect(sent(toBranch(draft, session, "spawn")).callback).toMatchObject({ enabled: true });
    expect(sent(toBranch(draft, session, "fork"))).not.toHaveProperty("callback");
  });
});
