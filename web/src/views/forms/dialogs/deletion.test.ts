/** What a deletion needs before it is sent, and what it says afterwards. */
import { describe, expect, it } from "vitest";
import type { Node, Session, Worktree } from "@/api/types";
import {
  type Deletion,
  deletionQuery,
  descendantsOf,
  describeOutcome,
  type Losses,
  type SessionEnded,
  unmetRequirement,
  worktreeStays,
} from "./deletion";

const nothing: Deletion = { purge: false, cascade: false, worktree: false, force: false };
const losses = (uncommitted: number, sessions = 0): Losses => ({
  uncommitted: Array.from({ length: uncommitted }, (_, at) => `f${at}`),
  untracked: [],
  unpushed: [],
  counts: { uncommitted, untracked: 0, unpushed: 0, sessions },
  sessions: [],
  removable: uncommitted === 0,
  why: "",
});
const session = { id: "a", worktreeId: "w" } as Session;
const item = { madeByBough: true } as Worktree;

it("finds all descendants of a session, including forks of children", () => {
  const node = (id: string, parentSessionId: string | null, forkedFromSessionId: string | null = null) =>
    ({ id, parentSessionId, forkedFromSessionId }) as Node;
  const tree = [
    node("root", null),
    node("a", "root"),
    node("b", "a"),
    node("c", "root", "b"),
    node("d", "root"),
  ];
  expect(descendantsOf("a", tree).map((entry) => entry.id)).toEqual(["b", "c"]);
});

describe("worktreeStays", () => {
  it("is false if Bough created the worktree and no other session works there", () =>
    expect(worktreeStays(session, item, nothing, losses(2))).toBeNull());
  it("is true otherwise", () => {
    expect(worktreeStays(session, { madeByBough: false } as Worktree, nothing, losses(0))).toContain(
      "did not create",
    );
    expect(worktreeStays(session, item, nothing, losses(0, 2))).toContain("2 other active sessions use");
    expect(worktreeStays(session, item, { ...nothing, cascade: true }, losses(0))).toContain("are kept");
  });
});

describe("missing", () => {
  it("requires confirmation before work is lost", () => {
    const entry = { ...nothing, worktree: true };
    expect(unmetRequirement(entry, undefined, 0)).toContain("Checking");
    expect(unmetRequirement(entry, losses(1), 0)).not.toBeNull();
    expect(unmetRequirement({ ...entry, force: true }, losses(1), 0)).toBeNull();
    expect(unmetRequirement(entry, losses(0), 0)).toBeNull();
  });
  it("does not delete a session permanently before its descendants", () => {
    expect(unmetRequirement({ ...nothing, purge: true }, undefined, 1)).not.toBeNull();
    expect(unmetRequirement({ ...nothing, purge: true, cascade: true }, undefined, 1)).toBeNull();
    expect(unmetRequirement(nothing, undefined, 1)).toBeNull();
  });
});

it("forces only what was confirmed", () => {
  expect(JSON.stringify(deletionQuery({ ...nothing, purge: true, force: true }))).toBe('{"purge":true}');
  expect(deletionQuery({ ...nothing, worktree: true, force: true })).toMatchObject({
    worktree: "remove",
    force: true,
  });
});

describe("outcome", () => {
  it("says how to recover a worktree", () => {
    const ended = {
      worktree: { forgotten: false, recover: "bough worktree recover w" },
      cascade: null,
    } as SessionEnded;
    expect(describeOutcome(ended, { ...nothing, purge: true })).toEqual({
      text: "Session deleted and worktree removed.",
      notes: ["To recover the worktree: bough worktree recover w"],
    });
  });
  it("counts the sessions of a cascade, and reports refusals", () => {
    const cascade = [
      { sessionId: "b", outcome: "cancelled" },
      { sessionId: "a", outcome: "refused", message: "It is busy." },
    ];
    expect(describeOutcome({ cascade } as SessionEnded, { ...nothing, cascade: true })).toEqual({
      text: "1 session ended.",
      notes: ["It is busy."],
    });
  });
});
