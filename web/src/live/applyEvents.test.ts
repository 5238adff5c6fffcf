import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventApplier } from "./applyEvents";

describe("events and the query cache", () => {
  let queries: QueryClient;
  let applier: EventApplier;
  const stops: (() => void)[] = [];

  beforeEach(() => {
    vi.useFakeTimers();
    queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
    applier = new EventApplier(queries);
  });
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
    queries.clear();
    vi.useRealTimers();
  });

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

  it("replaces a record with a newer one, never with an older one", () => {
    queries.setQueryData(["session", "s"], { id: "s", title: "new", repo: { id: "r" }, updatedAt: "2" });
    applier.take(event("session.patched", { id: "s", title: "old", updatedAt: "1" } as never));
    expect(queries.getQueryData(["session", "s"])).toMatchObject({ title: "new" });
    applier.take(event("session.patched", { id: "s", title: "newest", updatedAt: "3" } as never));
    expect(queries.getQueryData(["session", "s"])).toMatchObject({ title: "newest", repo: { id: "r" } });
  });

  it("keeps a session's tasks in order, and drops removed ones", () => {
    queries.setQueryData(["tasks", "s"], [task("a")]);
    applier.take(event("task.created", task("b", { position: 0 })));
    applier.take(event("task.patched", task("a", { status: "running", updatedAt: "2" })));
    expect(queries.getQueryData(["tasks", "s"])).toMatchObject([{ id: "b" }, { id: "a", status: "running" }]);
    applier.take(event("task.removed", task("b")));
    expect(queries.getQueryData(["tasks", "s"])).toMatchObject([{ id: "a" }]);
  });

  it("keeps an approval only while it is pending", () => {
    queries.setQueryData(["approvals"], []);
    const approval = { id: "q", status: "pending", updatedAt: "1" };
    applier.take(event("approval.created", approval));
    expect(queries.getQueryData(["approvals"])).toHaveLength(1);
    applier.take(event("approval.patched", { ...approval, status: "allowed", updatedAt: "2" } as never));
    expect(queries.getQueryData(["approvals"])).toEqual([]);
  });

  /** Observes a query whose responses the test sends. */
  const observe = (queryKey: unknown[]) => {
    const responses: ((data: unknown) => void)[] = [];
    const queryFn = vi.fn(() => new Promise<unknown>((resolve) => responses.push(resolve)));
    const observer = new QueryObserver(queries, { queryKey, queryFn, staleTime: Number.POSITIVE_INFINITY });
    stops.push(observer.subscribe(() => undefined));
    const respond = async (data: unknown) => {
      responses.shift()!(data);
      await vi.advanceTimersByTimeAsync(0);
    };
    return { fetches: queryFn, respond };
  };
  const wait = (time: number) => vi.advanceTimersByTimeAsync(time);

  it("refetches lists in one batch, not once per event", async () => {
    const home = observe(["home"]);
    await home.respond(1);
    for (let count = 0; count < 50; count += 1) applier.take(event("task.patched", task("a")));
    await wait(1000);
    expect(home.fetches).toHaveBeenCalledTimes(2);
  });

  it("refetches a session's words for that session only", async () => {
    const [own, other] = [observe(["words", "s", null]), observe(["words", "t", null])];
    await own.respond("a");
    await other.respond("b");
    applier.take(event("task.patched", task("a")));
    await wait(1000);
    expect(own.fetches).toHaveBeenCalledTimes(2);
    expect(other.fetches).toHaveBeenCalledTimes(1);
  });

  it("lets a slow response finish while events go on, then refetches once", async () => {
    const home = observe(["home"]);
    await home.respond("first");
    for (let count = 0; count < 20; count += 1) {
      applier.take(event("task.patched", task("a")));
      await wait(100);
    }
    expect(home.fetches).toHaveBeenCalledTimes(2);
    await home.respond("second");
    expect(queries.getQueryData(["home"])).toBe("second");
    await wait(1000);
    expect(home.fetches).toHaveBeenCalledTimes(3);
    await home.respond("third");
    await wait(1000);
    expect(home.fetches).toHaveBeenCalledTimes(3);
  });

  it("refetches a record that changed while its response was in flight", async () => {
    const tasks = observe(["tasks", "s"]);
    applier.take(event("task.patched", task("a", { status: "completed", updatedAt: "2" })));
    await tasks.respond([task("a", { status: "running" })]);
    await wait(1000);
    expect(tasks.fetches).toHaveBeenCalledTimes(2);
  });

  it("refetches everything after a gap, and once at the first connection", async () => {
    const rules = observe(["rules"]);
    await rules.respond(1);
    applier.take({ type: "stream.ready", cursor: 1, sessionId: null });
    await rules.respond(2);
    applier.take({ type: "stream.ready", cursor: 2, sessionId: null });
    expect(rules.fetches).toHaveBeenCalledTimes(2);
    applier.take({ type: "stream.gap", from: 1, to: 2, sessionId: null });
    expect(rules.fetches).toHaveBeenCalledTimes(3);
  });

  it("does not trust a response requested before the first connection", async () => {
    const rules = observe(["rules"]);
    applier.take({ type: "stream.ready", cursor: 1, sessionId: null });
    await rules.respond("early");
    await wait(1000);
    expect(rules.fetches).toHaveBeenCalledTimes(2);
  });

  it("retries queries that failed while the server was away", async () => {
    applier.take({ type: "stream.ready", cursor: 1, sessionId: null });
    const rules = observe(["rules"]);
    await rules.respond(Promise.reject(new Error("away")));
    expect(queries.getQueryState(["rules"])?.status).toBe("error");
    applier.take({ type: "stream.ready", cursor: 2, sessionId: null });
    await rules.respond("back");
    expect(queries.getQueryData(["rules"])).toBe("back");
  });
});
