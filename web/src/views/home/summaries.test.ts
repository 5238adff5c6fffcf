/** Tests the summaries of the home page and moving through its items. */
import { describe, expect, it } from "vitest";
import {
  canRetry,
  describeNeeds,
  describeTree,
  type HomeData,
  type HomeSession,
  type HomeTree,
  isFirstRun,
  nextIndex,
  unreadSessionIds,
} from "./summaries";

const counts = (approvals: number, failed: number, review: number) => ({
  approvals,
  failed,
  review,
  running: 0,
  queued: 0,
});

describe("describeNeeds", () => {
  it("says nothing when nothing is needed", () => expect(describeNeeds(counts(0, 0, 0))).toBe(""));
  it("names one kind", () => expect(describeNeeds(counts(1, 0, 0))).toBe("1 approval"));
  it("joins several", () =>
    expect(describeNeeds(counts(2, 1, 3))).toBe("2 approvals, 1 failure and 3 finished sessions to review"));
});

const spent = { turns: 0, tokens: 0, cost: 0 };
const empty: HomeData = {
  needs: { approvals: [], failed: [], review: [] },
  running: [],
  queued: [],
  trees: [],
  totals: { today: spent, week: spent, all: spent },
  counts: counts(0, 0, 0),
};
const session = (id: string, more: Partial<HomeSession> = {}) =>
  ({ id, status: "active", lastTask: { status: "failed" }, ...more }) as HomeSession;

it("is the first run only while there are no sessions", () => {
  expect(isFirstRun(empty)).toBe(true);
  expect(isFirstRun({ ...empty, running: [session("a")] })).toBe(false);
  // All that was done is archived: the numbers stay.
  expect(isFirstRun({ ...empty, totals: { ...empty.totals, all: { ...spent, turns: 3 } } })).toBe(false);
});

it("marks failures and finished work as read, not approvals", () => {
  const home = { ...empty, needs: { approvals: [], failed: [session("a")], review: [session("b")] } };
  expect(unreadSessionIds(home)).toEqual(["a", "b"]);
});

it("retries a failed turn, but not a session that has ended in an error", () => {
  expect(canRetry(session("a"))).toBe(true);
  expect(canRetry(session("a", { status: "error" }))).toBe(false);
  expect(canRetry(session("a", { lastTask: null }))).toBe(false);
});

it("tells the state of a tree", () => {
  const tree = { sessions: 4, asking: 1, running: 2, queued: 0, unread: 3 } as HomeTree;
  expect(describeTree(tree)).toBe("4 sessions · 1 approval · 2 working · 3 unread");
});

describe("step", () => {
  it("starts at either end", () => {
    expect(nextIndex(3, -1, 1)).toBe(0);
    expect(nextIndex(3, -1, -1)).toBe(2);
  });
  it("stays at the ends", () => {
    expect(nextIndex(3, 2, 1)).toBe(2);
    expect(nextIndex(3, 0, -1)).toBe(0);
  });
  it("stays nowhere in an empty list", () => expect(nextIndex(0, -1, 1)).toBe(-1));
});
