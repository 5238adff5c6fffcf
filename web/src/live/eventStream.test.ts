import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventStream, type LiveEvent } from "./eventStream";

/** A fake WebSocket whose server side is the test. */
class Socket {
  static opened: Socket[] = [];
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    Socket.opened.push(this);
  }

  receive(event: object) {
    this.onmessage?.({ data: JSON.stringify(event) });
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    this.onclose?.();
  }
}

const newest = () => Socket.opened.at(-1)!;

describe("the event stream", () => {
  let stream: EventStream;
  let events: LiveEvent[];
  let stop: () => void;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("WebSocket", Socket);
    Socket.opened = [];
    events = [];
    stream = new EventStream("ws://here/api/events", async () => "offline");
    stream.listen((event) => events.push(event));
    stop = stream.start();
  });

  afterEach(() => {
    stop();
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("resumes from the last cursor after a break, and reports when it is live", async () => {
    expect(newest().url).toBe("ws://here/api/events");
    newest().receive({ type: "stream.ready", cursor: 7 });
    newest().receive({ type: "task.created", cursor: 8, sessionId: "s" });
    newest().receive({ type: "message.delta", sessionId: "s", messageId: "m", offset: 0, text: "x" });
    expect(stream.connection.get().state).toBe("live");
    newest().close();
    expect(stream.connection.get().state).toBe("offline");
    await vi.advanceTimersByTimeAsync(1000);
    expect(newest().url).toBe("ws://here/api/events?cursor=8");
    newest().receive({ type: "stream.ready", cursor: 9 });
    expect(stream.connection.get().state).toBe("live");
    expect(events.map((event) => event.type)).toEqual([
      "stream.ready",
      "task.created",
      "message.delta",
      "stream.ready",
    ]);
  });

  it("retries with growing delays while nobody answers, up to a few seconds", async () => {
    for (let tries = 0; tries < 8; tries += 1) {
      newest().close();
      await vi.advanceTimersByTimeAsync(6500);
    }
    expect(Socket.opened.length).toBe(9);
  });

  it("reconnects after the computer slept", async () => {
    newest().receive({ type: "stream.ready", cursor: 3 });
    const before = newest();
    vi.setSystemTime(Date.now() + 3_600_000);
    await vi.advanceTimersByTimeAsync(1000);
    expect(before.closed).toBe(true);
    expect(newest().url).toBe("ws://here/api/events?cursor=3");
  });

  it("ignores events of a connection that it gave up", () => {
    const before = newest();
    stream.reconnect();
    before.receive({ type: "task.created", cursor: 99, sessionId: "s" });
    expect(events).toEqual([]);
    expect(stream.cursor).toBeNull();
  });

  it("notifies the other listeners when one fails", () => {
    const reported = vi.fn();
    vi.stubGlobal("reportError", reported);
    stream.listen(() => {
      throw new Error("broken");
    });
    const after: string[] = [];
    stream.listen((event) => after.push(event.type));
    newest().receive({ type: "stream.ready", cursor: 1 });
    expect(after).toEqual(["stream.ready"]);
    expect(reported).toHaveBeenCalledTimes(1);
  });

  it("reports that the page is locked", async () => {
    stop();
    stream = new EventStream("ws://here/api/events", async () => "locked");
    stop = stream.start();
    newest().close();
    await vi.advanceTimersByTimeAsync(10);
    expect(stream.connection.get().state).toBe("locked");
    // Retrying must not change the state meanwhile.
    const states: string[] = [];
    stream.connection.subscribe(() => states.push(stream.connection.get().state));
    await vi.advanceTimersByTimeAsync(1000);
    newest().close();
    await vi.advanceTimersByTimeAsync(10);
    expect(states).toEqual([]);
  });

  it("is not live while missed events are replayed", async () => {
    newest().receive({ type: "stream.ready", cursor: 3 });
    stream.reconnect();
    newest().receive({ type: "task.created", cursor: 4, sessionId: "s" });
    expect(stream.connection.get().state).toBe("connecting");
    newest().receive({ type: "stream.ready", cursor: 4 });
    expect(stream.connection.get().state).toBe("live");
  });
});
