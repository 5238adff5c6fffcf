import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventApplier } from "./applyEvents";

describe("what events do to kept answers", () => {
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

  /** A question that is looked at, whose answers come when the test says so. */
  const look = (queryKey: unknown[]) => {
    const answers: ((answer: unknown) => void)[] = [];
    const queryFn = vi.fn(() => new Promise<unknown>((resolve) => answers.push(resolve)));
    const observer = new QueryObserver(queries, { queryKey, queryFn, staleTime: Number.POSITIVE_INFINITY });
    stops.push(observer.subscribe(() => undefined));
    const answer = async (with_: unknown) => {
      answers.shift()!(with_);
      await vi.advanceTimersByTimeAsync(0);
    };
    return { asked: queryFn, answer };
  };
  const pass = (time: number) => vi.advanceTimersByTimeAsync(time);

  it("asks for lists again together, not once for each event", async () => {
    const home = look(["home"]);
    await home.answer(1);
    for (let count = 0; count < 50; count += 1) applier.take(event("task.patched", task("a")));
    await pass(1000);
    expect(home.asked).toHaveBeenCalledTimes(2);
  });

  it("asks about the words of a session again for that session alone", async () => {
    const [own, other] = [look(["words", "s", null]), look(["words", "t", null])];
    await own.answer("a");
    await other.answer("b");
    applier.take(event("task.patched", task("a")));
    await pass(1000);
    expect(own.asked).toHaveBeenCalledTimes(2);
    expect(other.asked).toHaveBeenCalledTimes(1);
  });

  it("lets a slow answer come while events go on, and asks once more after it", async () => {
    const home = look(["home"]);
    await home.answer("first");
    for (let count = 0; count < 20; count += 1) {
      applier.take(event("task.patched", task("a")));
      await pass(100);
    }
    expect(home.asked).toHaveBeenCalledTimes(2);
    await home.answer("second");
    expect(queries.getQueryData(["home"])).toBe("second");
    await pass(1000);
    expect(home.asked).toHaveBeenCalledTimes(3);
    await home.answer("third");
    await pass(1000);
    expect(home.asked).toHaveBeenCalledTimes(3);
  });

  it("asks again for a record whose answer was on the way when it changed", async () => {
    const tasks = look(["tasks", "s"]);
    applier.take(event("task.patched", task("a", { status: "completed", updatedAt: "2" })));
    await tasks.answer([task("a", { status: "running" })]);
    await pass(1000);
    expect(tasks.asked).toHaveBeenCalledTimes(2);
  });

  it("asks for everything again after a gap, and once when the stream first stands", async () => {
    const rules = look(["rules"]);
    await rules.answer(1);
    applier.take({ type: "stream.ready", cursor: 1, sessionId: null });
    await rules.answer(2);
    applier.take({ type: "stream.ready", cursor: 2, sessionId: null });
    expect(rules.asked).toHaveBeenCalledTimes(2);
    applier.take({ type: "stream.gap", from: 1, to: 2, sessionId: null });
    expect(rules.asked).toHaveBeenCalledTimes(3);
  });

  it("does not trust an answer that was asked for before the stream stood", async () => {
    const rules = look(["rules"]);
    applier.take({ type: "stream.ready", cursor: 1, sessionId: null });
    await rules.answer("early");
    await pass(1000);
    expect(rules.asked).toHaveBeenCalledTimes(2);
  });

  it("tries again what failed while the server was away, when it is back", async () => {
    applier.take({ type: "stream.ready", cursor: 1, sessionId: null });
    const rules = look(["rules"]);
    await rules.answer(Promise.reject(new Error("away")));
    expect(queries.getQueryState(["rules"])?.status).toBe("error");
    applier.take({ type: "stream.ready", cursor: 2, sessionId: null });
    await rules.answer("back");
    expect(queries.getQueryData(["rules"])).toBe("back");
  });
});
