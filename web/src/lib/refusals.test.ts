import { describe, expect, it } from "vitest";
import { withoutFields } from "./refusals";

describe("withoutFields", () => {
  it.each([
    [
      "x of worktree x has commits that main does not contain. Merge them first, or send force: true: the branch stays, and everything is kept on a recovery ref.",
      "x of worktree x has commits that main does not contain. Merge them first.",
    ],
    [
      "2 files are not committed at /a.b/c: d.py. Commit them, or send force: true; they are kept in a checkpoint first.",
      "2 files are not committed at /a.b/c: d.py. Commit them.",
    ],
    ["Commit them first, or send force: true to merge without them.", "Commit them first."],
    ["Wait for it or stop it, or send force: true.", "Wait for it or stop it."],
    ["Let it finish, or complete it with force: true, then archive it.", "Let it finish, then archive it."],
    ["A turn is running in session 1. Send force: true to end it.", "A turn is running in session 1."],
    [
      "Session 1 ended (completed). Send resume: true, or fork it.",
      "Session 1 ended (completed). Resume or fork it.",
    ],
    ["End one, or send makeRoom: true to complete the one that has been idle longest.", "End one."],
    ["There is no session 1.", "There is no session 1."],
  ])("%s", (message, shown) => expect(withoutFields(message)).toBe(shown));
});
