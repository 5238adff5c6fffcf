import { expect, it } from "vitest";
import type { Approval } from "@/api/types";
import { groupApprovals, takesPlainAnswer } from "./groupApprovals";

const ALLOW = { optionId: "yes", name: "Allow", kind: "allow_once" };
const approval = (id: string, command: string, more: Partial<Approval> = {}) =>
  ({
    id,
    title: command,
    toolKind: "execute",
    key: `run ${command}`,
    options: [ALLOW],
    toolCall: { toolCallId: id, kind: "execute", rawInput: { command } },
    ...more,
  }) as unknown as Approval;

it("joins equal approvals and keeps their order", () => {
  const groups = groupApprovals([
    approval("1", "pytest -q"),
    approval("2", "make"),
    approval("3", "pytest -q"),
    approval("4", "pytest -q", { toolCall: { rawInput: { command: "pytest -q; rm -r ." } } } as object),
  ]);
  expect(groups.map(({ approvals }) => approvals.map(({ id }) => id))).toEqual([["1", "3"], ["2"], ["4"]]);
});

it("leaves alone what has several answers, no key or a form", () => {
  const several = { options: [ALLOW, { ...ALLOW, optionId: "other" }] } as object;
  for (const more of [several, { key: null }, { toolKind: "question" } as object])
    expect(groupApprovals([approval("1", "ls", more), approval("2", "ls", more)])).toHaveLength(2);
  expect(takesPlainAnswer(approval("1", "ls", several))).toBe(false);
  expect(takesPlainAnswer(approval("1", "ls", { key: null }))).toBe(true);
});
