import { describe, expect, it } from "vitest";
import type { Approval, Session, Task } from "@/api/types";
import { filled } from "./header/ContextGauge";
import { dropTarget, moved, stepTarget } from "./queue/reorder";
import { banner } from "./SessionBanner";
import { ordinal, sending, standing } from "./sessionState";
import { bodyOf, limitsOf, usedSince } from "./settings/budget";
import { changes, draftOf, MASK, offers } from "./settings/settingsDraft";
import { lastEnd } from "./useMarkSeen";

const session = (over: Partial<Session> = {}): Session =>
  ({
    id: "s1",
    status: "active",
    activity: "idle",
    title: "One",
    description: "",
    model: null,
    effort: null,
    permissionMode: "default",
    mcpServerIds: ["b", "a"],
    env: { KEY: MASK },
    contextFiles: ["README.md"],
    callback: { enabled: true },
    headless: null,
    queuePaused: false,
    archived: false,
    metadata: {},
    ...over,
  }) as Session;

const task = (id: string, over: Partial<Task> = {}): Task =>
  ({
    id,
    sessionId: "s1",
    position: Number(id.slice(1)),
    status: "queued",
    held: false,
    endedAt: null,
    ...over,
  }) as Task;

describe("how a session stands", () => {
  it("says what sending does", () => {
    const label = (one: Session, ...tasks: Task[]) => sending(standing(one, tasks, [])).label;
    expect(label(session())).toBe("Send");
    expect(label(session(), task("t1", { status: "running" }))).toBe("Queue (next)");
    expect(label(session(), task("t1", { status: "running" }), task("t2"), task("t3"))).toBe(
      "Queue (3rd in line)",
    );
    expect(label(session({ queuePaused: true }), task("t2"))).toBe("Resume and send");
    expect(label(session({ status: "completed" }))).toBe("Resume and send");
    expect(label(session(), task("t1", { status: "interrupted", held: true }))).toBe("Resume and send");
  });

  it("is held by itself only while nobody is asked about it", () => {
    const held = task("t1", { status: "interrupted", held: true });
    expect(standing(session(), [held], []).held).toBe(true);
    expect(standing(session(), [held], [{ taskId: "t1" } as Approval]).held).toBe(false);
    expect(standing(session(), [held], []).busy).toBe(false);
    expect(standing(session(), [{ ...held, held: false }], []).busy).toBe(true);
  });

  it("tells errors that can be resumed from those that cannot", () => {
    expect(standing(session({ status: "error" }), [], []).broken).toBe(true);
    const marked = session({ status: "error", metadata: { reason: "marked_failed" } });
    expect(standing(marked, [], []).broken).toBe(false);
    expect(banner(marked, standing(marked, [], []), () => undefined)?.text).toContain("A prompt resumes it");
    expect(banner(session(), standing(session(), [], []), () => undefined)).toBeNull();
  });

  it("counts as people do", () => {
    expect([1, 2, 3, 4, 11, 12, 13, 21, 22, 103, 111].map(ordinal).join()).toBe(
      "1st,2nd,3rd,4th,11th,12th,13th,21st,22nd,103rd,111th",
    );
  });

  it("knows when the newest turn was over", () => {
    expect(lastEnd([])).toBe("");
    expect(
      lastEnd([task("t1", { endedAt: "2026-02" }), task("t2", { endedAt: "2026-01" }), task("t3")]),
    ).toBe("2026-02");
  });

  it("reads the context gauge, and nothing from half of it", () => {
    expect(filled({ used: 50, size: 200 })?.share).toBe(0.25);
    expect(filled({ used: 300, size: 200 })?.share).toBe(1);
    expect(filled({ used: 50 })).toBeNull();
    expect(filled(null)).toBeNull();
  });
});

describe("the queue", () => {
  const waiting = [task("t1"), task("t2"), task("t3")];
  const ids = (tasks: Task[]) => tasks.map((one) => one.id).join("");

  it.each([
    ["t2", -1, "t1", "t2t1t3"],
    ["t1", 1, "t3", "t2t1t3"],
    ["t2", 1, "", "t1t3t2"],
    ["t1", -1, null, ""],
    ["t3", 1, null, ""],
  ] as const)("moves %s by %i", (id, by, before, after) => {
    expect(stepTarget(waiting, id, by)).toBe(before);
    if (before !== null) expect(ids(moved(waiting, id, before))).toBe(after);
  });

  it.each([
    ["t1", "t3", "", "t2t3t1"],
    ["t3", "t1", "t1", "t3t1t2"],
    ["t1", "t2", "t3", "t2t1t3"],
    ["t1", "t1", null, ""],
  ] as const)("drops %s onto %s", (id, onto, before, after) => {
    expect(dropTarget(waiting, id, onto)).toBe(before);
    if (before !== null) expect(ids(moved(waiting, id, before))).toBe(after);
  });

  it("keeps its order when the other one is gone", () => {
    expect(ids(moved(waiting, "t1", "t9"))).toBe("t1t2t3");
    expect(ids(moved(waiting, "t9", "t1"))).toBe("t1t2t3");
  });
});

describe("settings", () => {
  it("saves nothing when nothing was changed", () => {
    expect(changes(session(), draftOf(session()))).toEqual({});
  });

  it("saves only what was changed", () => {
    const draft = { ...draftOf(session()), title: " Two ", model: "opus[1m]", headless: "deny" as const };
    expect(changes(session(), draft)).toEqual({ title: "Two", model: "opus[1m]", headless: "deny" });
  });

  it("keeps masked values, and sends the whole environment when one is added or taken", () => {
    const draft = draftOf(session());
    const more = { ...draft, env: [...draft.env, { id: "x", name: "NEW", value: "v" }] };
    expect(changes(session(), more)).toEqual({ env: { KEY: MASK, NEW: "v" } });
    expect(changes(session(), { ...draft, env: [] })).toEqual({ env: {} });
    expect(changes(session(), { ...draft, env: [...draft.env, { id: "x", name: " ", value: "" }] })).toEqual(
      {},
    );
  });

  it("takes no order of servers for a change, but that of context files", () => {
    const draft = draftOf(session({ contextFiles: ["a", "b"] }));
    expect(changes(session({ contextFiles: ["a", "b"] }), { ...draft, mcpServerIds: ["a", "b"] })).toEqual(
      {},
    );
    expect(changes(session({ contextFiles: ["a", "b"] }), { ...draft, contextFiles: "b\na\n" })).toEqual({
      contextFiles: ["b", "a"],
    });
  });

  it("finds what the agent offers, also in groups", () => {
    const metadata = {
      configOptions: [
        { id: "x", category: "model", options: [{ name: "G", options: [{ value: "m1", name: "M1" }] }] },
        { id: "effort", options: [{ value: "low", name: "Low" }, { nothing: 1 }] },
      ],
    };
    expect(offers({ metadata }, "model").map((one) => one.value)).toEqual(["m1"]);
    expect(offers({ metadata }, "effort").map((one) => one.value)).toEqual(["low"]);
    expect(offers({ metadata: {} }, "model")).toEqual([]);
  });

  it("reads budgets and refuses what is no number", () => {
    const empty = limitsOf(null);
    expect(bodyOf(empty)).toEqual({
      body: { maxTurns: null, maxTokens: null, maxCost: null, maxMinutes: null },
    });
    expect(bodyOf({ ...empty, maxCost: "1,5" })).toMatchObject({ body: { maxCost: 1.5 } });
    expect(bodyOf({ ...empty, maxTurns: "1.5" })).toEqual({ wrong: "maxTurns" });
    expect(bodyOf({ ...empty, maxTokens: "many" })).toEqual({ wrong: "maxTokens" });
    const used = { turns: 5, tokens: 10, cost: 2, seconds: 120, sessions: 1 };
    const budget = { baseTurns: 2, baseTokens: 0, baseCost: 1, baseSeconds: 60 } as Parameters<
      typeof usedSince
    >[1];
    expect(usedSince(used, budget)).toEqual({ maxTurns: 3, maxTokens: 10, maxCost: 1, maxMinutes: 1 });
  });
});
