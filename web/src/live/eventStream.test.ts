import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EventStream, type LiveEvent } from "./eventStream";

/** A socket at the other end of which a test sits. */
class Socket {
  static made: Socket[] = [];
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    Socket.made.push(this);
  }

  say(event: object) {
    this.onmessage?.({ data: JSON.stringify(event) });
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    this.onclose?.();
  }
}

const newest = () => Socket.made.at(-1)!;

describe("the event stream (A3)", () => {
  let stream: EventStream;
  let heard: LiveEvent[];
  let stop: () => void;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal("WebSocket", Socket);
    Socket.made = [];
    heard = [];
    stream = new EventStream("ws://here/api/events", async () => "offline");
    stream.listen((event) => heard.push(event));
    stop = stream.start();
  });

  afterEach(() => {
    stop();
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it("goes on from the last cursor after a break, and says when it is live", async () => {
    expect(newest().url).toBe("ws://here/api/events");
    newest().say({ type: "stream.ready", cursor: 7 });
    newest().say({ type: "task.created", cursor: 8, sessionId: "s" });
    newest().say({ type: "message.delta", sessionId: "s", messageId: "m", offset: 0, text: "x" });
    expect(stream.connection.get().state).toBe("live");
    newest().close();
    expect(stream.connection.get().state).toBe("offline");
    await vi.advanceTimersByTimeAsync(1000);
    expect(newest().url).toBe("ws://here/api/events?cursor=8");
    newest().say({ type: "stream.ready", cursor: 9 });
    expect(stream.connection.get().state).toBe("live");
    expect(heard.map((event) => event.type)).toEqual([
      "stream.ready",
      "task.created",
      "message.delta",
      "stream.ready",
    ]);
  });

  it("waits longer and longer while nobody answers, up to a few seconds", async () => {
    for (let tries = 0; tries < 8; tries += 1) {
      newest().close();
      await vi.advanceTimersByTimeAsync(6500);
    }
    expect(Socket.made.length).toBe(9);
  });

  it("trusts no connection after the machine slept", async () => {
    newest().say({ type: "stream.ready", cursor: 3 });
    const before = newest();
    vi.setSystemTime(Date.now() + 3_600_000);
    await vi.advanceTimersByTimeAsync(1000);
    expect(before.closed).toBe(true);
    expect(newest().url).toBe("ws://here/api/events?cursor=3");
  });

  it("hears nothing of a connection that it gave up", () => {
    const before = newest();
    stream.reconnect();
    before.say({ type: "task.created", cursor: 99, sessionId: "s" });
    expect(heard).toEqual([]);
    expect(stream.cursor).toBeNull();
  });

  it("tells the others when one who listens fails", () => {
    const reported = vi.fn();
    vi.stubGlobal("reportError", reported);
    stream.listen(() => {
      throw new Error("broken");
    });
    const after: string[] = [];
    stream.listen((event) => after.push(event.type));
    newest().say({ type: "stream.ready", cursor: 1 });
    expect(after).toEqual(["stream.ready"]);
    expect(reported).toHaveBeenCalledTimes(1);
  });

  it("says that it is locked out, when it is", async () => {
    stop();
    stream = new EventStream("ws://here/api/events", async () => "locked");
    stop = stream.start();
    newest().close();
    await vi.advanceTimersByTimeAsync(10);
    expect(stream.connection.get().state).toBe("locked");
    // Trying again does not take it back meanwhile.
    const states: string[] = [];
    stream.connection.subscribe(() => states.push(stream.connection.get().state));
    await vi.advanceTimersByTimeAsync(1000);
    newest().close();
    await vi.advanceTimersByTimeAsync(10);
    expect(states).toEqual([]);
  });

  it("is not live while it is told what it missed", async () => {
    newest().say({ type: "stream.ready", cursor: 3 });
    stream.reconnect();
    newest().say({ type: "task.created", cursor: 4, sessionId: "s" });
    expect(stream.connection.get().state).toBe("connecting");
    newest().say({ type: "stream.ready", cursor: 4 });
    expect(stream.connection.get().state).toBe("live");
  });
});
