import { describe, expect, it } from "vitest";
import type { Approval, Session, Task } from "@/api/types";
import { bannerOf } from "./SessionBanner";
import { ordinal, sendButton, sessionState, turnMode } from "./sessionState";

const session = (change: Partial<Session> = {}): Session =>
  ({
    id: "s1",
    status: "active",
    activity: "idle",
    queuePaused: false,
    archived: false,
    metadata: {},
    ...change,
  }) as Session;

const task = (id: string, change: Partial<Task> = {}): Task =>
  ({ id, sessionId: "s1", position: Number(id.slice(1)), status: "queued", held: false, ...change }) as Task;

describe("a session's state", () => {
  it("decides what the send button does", () => {
    const label = (record: Session, ...tasks: Task[]) => sendButton(sessionState(record, tasks, [])).label;
    expect(label(session())).toBe("Send");
    expect(label(session(), task("t1", { status: "running" }))).toBe("Queue");
    expect(label(session(), task("t1", { status: "running" }), task("t2"), task("t3"))).toBe("Queue");
    expect(label(session({ queuePaused: true }), task("t2"))).toBe("Resume and send");
    expect(label(session({ status: "completed" }))).toBe("Resume and send");
    expect(label(session(), task("t1", { status: "interrupted", held: true }))).toBe("Resume and send");
  });

  it("says the same about a prompt that is about to start as about one that runs", () => {
    const hint = (...tasks: Task[]) => sendButton(sessionState(session(), tasks, [])).hint;
    expect(hint(task("t1"))).toBe("Sends after this turn.");
    expect(hint(task("t1", { status: "dispatching" }))).toBe("Sends after this turn.");
    expect(hint(task("t1", { status: "running" }))).toBe("Sends after this turn.");
    expect(hint(task("t1", { status: "running" }), task("t2"), task("t3"))).toBe(
      "Sends 3rd in line, after this turn.",
    );
  });

  it("knows when a changed mode does not count yet", () => {
    const changed = session({ permissionMode: "plan" });
    const running = task("t1", { status: "running", permissionMode: "acceptEdits" });
    expect(turnMode(changed, running)).toBe("acceptEdits");
    expect(turnMode(changed, { ...running, status: "waiting_permission" })).toBe("acceptEdits");
    expect(turnMode(changed, { ...running, permissionMode: "plan" })).toBeNull();
    expect(turnMode(changed, { ...running, permissionMode: null })).toBeNull();
    expect(turnMode(changed, { ...running, status: "interrupted" })).toBeNull();
    expect(turnMode(changed, null)).toBeNull();
    expect(
      turnMode(session({ permissionMode: "ask" }), { ...running, permissionMode: "default" }),
    ).toBeNull();
  });

  it("offers what can be done about a parked turn", () => {
    const parked = {
      agent: "claude-code",
      account: "",
      kind: "usage" as const,
      reason: "Claude Code says: …",
      parkedAt: new Date().toISOString(),
      resumesAt: new Date().toISOString(),
      tries: 0,
    };
    const state = sessionState(session(), [task("t1", { status: "interrupted", parked }), task("t2")], []);
    expect(state.busy).toBe(false);
    expect(sendButton(state)).toEqual({ label: "Queue", hint: "Sends after the parked turn." });
    const banner = bannerOf(session(), state, () => {});
    expect(banner?.text).toMatch(/^Usage limit of claude-code; resumes at .*\d\d/);
    expect(banner?.actions?.map((action) => action.label)).toEqual([
      "Try now",
      "Continue with another agent",
      "Cancel",
    ]);
    const asked = task("t1", { status: "interrupted", held: true, parked: { ...parked, resumesAt: null } });
    expect(sessionState(session(), [asked], []).parked).toBeNull();
  });

  it("is held only if no approval asks about the interrupted turn", () => {
    const held = task("t1", { status: "interrupted", held: true });
    expect(sessionState(session(), [held], []).held).toBe(true);
    expect(sessionState(session(), [held], [{ taskId: "t1" } as Approval]).held).toBe(false);
    expect(sessionState(session(), [held], []).busy).toBe(false);
    expect(sessionState(session(), [{ ...held, held: false }], []).busy).toBe(true);
  });

  it("tells errors that can be resumed from those that cannot", () => {
    expect(sessionState(session({ status: "error" }), [], []).broken).toBe(true);
    const marked = session({ status: "error", metadata: { reason: "marked_failed" } });
    const state = sessionState(marked, [], []);
    expect(state.broken).toBe(false);
    expect(bannerOf(marked, state, () => undefined)?.text).toContain("Sending a prompt resumes it");
    expect(bannerOf(session(), sessionState(session(), [], []), () => undefined)).toBeNull();
  });

  it("counts with English ordinals", () => {
    expect([1, 2, 3, 4, 11, 12, 13, 21, 22, 103, 111].map(ordinal).join()).toBe(
      "1st,2nd,3rd,4th,11th,12th,13th,21st,22nd,103rd,111th",
    );
  });
});
