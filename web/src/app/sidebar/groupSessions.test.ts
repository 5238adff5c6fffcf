import { expect, it } from "vitest";
import { groupSessions, type SidebarSession } from "./groupSessions";

const session = (id: string, repoId: string, more: Partial<SidebarSession> = {}) =>
  ({
    id,
    repoId,
    repoName: `name of ${repoId}`,
    asking: 0,
    unread: false,
    pinned: false,
    ...more,
  }) as SidebarSession;

it("puts pins first, then repositories in the order of their latest session", () => {
  const groups = groupSessions([
    session("p", "b", { pinned: true }),
    session("1", "a", { unread: true }),
    session("2", "b", { asking: 1 }),
    session("3", "a"),
  ]);
  expect(
    groups.map(({ name, sessions, attention }) => [name, sessions.map(({ id }) => id), attention]),
  ).toEqual([
    ["Pinned", ["p"], 0],
    ["name of a", ["1", "3"], 1],
    ["name of b", ["2"], 1],
  ]);
});

it("has no group for no sessions", () => {
  expect(groupSessions([])).toEqual([]);
});
