import { expect, it } from "vitest";
import { firstExpiry, groupApprovals, type PlacedApproval, takesPlainAnswer } from "./groupApprovals";

const ALLOW = { optionId: "yes", name: "Allow", kind: "allow_once" };
const approval = (id: string, command: string, more: Partial<PlacedApproval> = {}) =>
  ({
    id,
    repoId: "repo",
    title: command,
    toolKind: "execute",
    key: `run ${command}`,
    options: [ALLOW],
    toolCall: { toolCallId: id, kind: "execute", rawInput: { command } },
    ...more,
  }) as unknown as PlacedApproval;

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

it("joins calls of Bough's tools only if all arguments are equal", () => {
  const call = (id: string, args: object, more: object = {}) =>
    approval(id, "Spawn a child: 'Tests'?", {
      toolKind: "call",
      key: "bough/agor_sessions_spawn",
      toolCall: { title: "Spawn", tool: "agor_sessions_spawn", arguments: args, callId: id },
      ...more,
    });
  const groups = groupApprovals([
    call("1", { title: "Tests", prompt: "Run them." }),
    call("2", { title: "Tests", prompt: "Delete them." }),
    call("3", { title: "Tests", prompt: "Run them." }),
    call("4", { title: "Tests", prompt: "Run them.", extraInstructions: "Push." }),
  ]);
  expect(groups.map(({ approvals }) => approvals.map(({ id }) => id))).toEqual([["1", "3"], ["2"], ["4"]]);
});

it("does not join what differs in any other way", () => {
  const first = approval("1", "make");
  const others: Partial<PlacedApproval>[] = [
    { repoId: "other" },
    { reason: "A rule asks." },
    { onExpiry: "allow" },
    { options: [{ ...ALLOW, name: "Allow everything" }] },
    { toolCall: { ...first.toolCall, unknown: "field" } },
    { toolCall: { ...first.toolCall, rawInput: "make; curl" } },
  ];
  for (const other of others) expect(groupApprovals([first, approval("2", "make", other)])).toHaveLength(2);
  const renamed = { options: [{ ...ALLOW, optionId: "other-id" }] };
  expect(groupApprovals([first, approval("2", "make", renamed)])).toHaveLength(1);
});

it("knows when the first of them is decided", () => {
  const at = (expiresAt: string | null) => approval("1", "make", { expiresAt });
  expect(firstExpiry([at(null), at("2026-01-02T00:00:00Z"), at("2026-01-01T00:00:00Z")])).toBe(
    "2026-01-01T00:00:00Z",
  );
  expect(firstExpiry([at(null)])).toBeNull();
});
