import { expect, it } from "vitest";
import type { Session } from "@/api/types";
import { completeCommand } from "./slashCommands";
import { knownCommands } from "./useCommands";

const session = (agent: string, repoId: string, ...names: string[]) =>
  ({
    agent,
    repoId,
    metadata: names.length ? { commands: names.map((name) => ({ name })) } : {},
  }) as unknown as Session;

it("knows an agent's commands before its first turn from its other sessions, those in the same repository first", () => {
  const others = [
    session("other", "r1", "wrong"),
    session("demo", "r2", "far"),
    session("demo", "r1"),
    session("demo", "r1", "near"),
  ];
  const names = (from: Session, known: Session[]) => knownCommands(from, known).map(({ name }) => name);
  expect(names(session("demo", "r1"), others)).toEqual(["near"]);
  expect(names(session("demo", "r3"), others)).toEqual(["far"]);
  expect(names(session("demo", "r1", "own"), others)).toEqual(["own"]);
  expect(names(session("new", "r1"), others)).toEqual([]);
  const offered = knownCommands(session("new", "r1"), others, [{ name: "/told", description: null }]);
  expect(offered.map(({ name }) => name)).toEqual(["told"]);
});

it("puts a saved prompt in the place of what was typed", () => {
  const command = { name: "fix", description: "", hint: null, text: "Fix it.\nThen test." };
  expect(completeCommand(command, "/fi", 3)).toBe("Fix it.\nThen test.");
  expect(completeCommand(command, "/fi now", 3)).toBe("Fix it.\nThen test. now");
});
