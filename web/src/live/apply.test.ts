import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Applier } from "./apply";

describe("what events do to kept answers", () => {
  let queries: QueryClient;
  let applier: Applier;

  beforeEach(() => {
    vi.useFakeTimers();
    queries = new QueryClient();
    applier = new Applier(queries);
  });
  afterEach(() => void vi.useRealTimers());

  const task = (id: string, more: object = {}) => ({
    id,
    position: 1,
    updatedAt: "1",
    status: "queued",
    ...more,
  });
  const event = (type: string, data: { id: string }) => ({
    type,
    cursor: 1,
    sessionId: "s",
    objectId: data.id,
    data,
  });

  it("replaces a record by a newer one, and never by an older one", () => {
    queries.setQueryData(["session", "s"], { id: "s", title: "new", repo: { id: "r" }, updatedAt: "2" });
    applier.take(event("session.patched", { id: "s", title: "old", updatedAt: "1" } as never));
    expect(queries.getQueryData(["session", "s"])).toMatchObject({ title: "new" });
    applier.take(event("session.patched", { id: "s", title: "newest", updatedAt: "3" } as never));
    expect(queries.getQueryData(["session", "s"])).toMatchObject({ title: "newest", repo: { id: "r" } });
  });

  it("keeps the tasks of a session in their order, and drops what was removed", () => {
    queries.setQueryData(["tasks", "s"], [task("a")]);
    applier.take(event("task.created", task("b", { position: 0 })));
    applier.take(event("task.patched", task("a", { status: "running", updatedAt: "2" })));
    expect(queries.getQueryData(["tasks", "s"])).toMatchObject([{ id: "b" }, { id: "a", status: "running" }]);
    applier.take(event("task.removed", task("b")));
    expect(queries.getQueryData(["tasks", "s"])).toMatchObject([{ id: "a" }]);
  });

  it("shows a question while it waits, and no longer", () => {
    queries.setQueryData(["approvals"], []);
    const approval = { id: "q", status: "pending", updatedAt: "1" };
    applier.take(event("approval.created", approval));
    expect(queries.getQueryData(["approvals"])).toHaveLength(1);
    applier.take(event("approval.patched", { ...approval, status: "allowed", updatedAt: "2" } as never));
    expect(queries.getQueryData(["approvals"])).toEqual([]);
  });

  it("asks for lists again together, not once for each event", async () => {
    const asked = vi.spyOn(queries, "invalidateQueries");
    for (let count = 0; count < 50; count += 1) applier.take(event("task.patched", task("a")));
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toHaveBeenCalledTimes(1);
  });

  it("asks for everything again after a gap, and once when the stream first stands", () => {
    const asked = vi.spyOn(queries, "invalidateQueries");
    applier.take({ type: "stream.ready", cursor: 1, sessionId: null });
    applier.take({ type: "stream.ready", cursor: 2, sessionId: null });
    expect(asked).toHaveBeenCalledTimes(1);
    applier.take({ type: "stream.gap", from: 1, to: 2, sessionId: null });
    expect(asked).toHaveBeenCalledTimes(2);
  });
});
