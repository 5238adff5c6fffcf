import { afterEach, expect, test, vi } from "vitest";
import { TerminalSocket } from "./terminalSocket";

class FakeSocket {
  static OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 1;
  sent: unknown[] = [];
  onmessage: (event: { data: unknown }) => void = () => undefined;
  onclose: (event: { code: number; reason?: string }) => void = () => undefined;
  constructor() {
    FakeSocket.all.push(this);
  }
  send(data: unknown) {
    this.sent.push(data);
  }
  close() {}
}

function connect() {
  FakeSocket.all = [];
  vi.stubGlobal("WebSocket", FakeSocket);
  const calls: unknown[][] = [];
  const tell =
    (name: string) =>
    (...words: unknown[]) =>
      calls.push([name, ...words]);
  const socket = new TerminalSocket("ws://x", () => [], {
    opened: tell("opened"),
    resized: tell("resized"),
    skipped: tell("skipped"),
    ended: tell("ended"),
    lost: tell("lost"),
    printed: (data, shown) => {
      calls.push(["printed", data.length]);
      shown();
    },
  });
  return { socket, calls };
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("confirms what was shown, and sends large input in pieces", () => {
  const { socket, calls } = connect();
  const [fake] = FakeSocket.all as [FakeSocket];
  fake.onmessage({ data: '{"type":"opened","columns":90,"rows":30,"replayed":3}' });
  fake.onmessage({ data: new Uint8Array([1, 2, 3]).buffer });
  expect(calls).toEqual([
    ["opened", 90, 30, 3],
    ["printed", 3],
  ]);
  expect(fake.sent).toEqual(['{"ack":3}']);
  socket.type(new Uint8Array(70_000));
  expect((fake.sent.slice(1) as Uint8Array[]).map((piece) => piece.length)).toEqual([65_536, 4464]);
});

test("reconnects unless the server refuses or the shell is gone", () => {
  vi.useFakeTimers();
  const { calls } = connect();
  FakeSocket.all[0]!.onclose({ code: 1006 });
  vi.advanceTimersByTime(5000);
  expect(FakeSocket.all).toHaveLength(2);
  FakeSocket.all[1]!.onclose({ code: 4404, reason: "There is no terminal." });
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.all).toHaveLength(2);
  expect(calls).toEqual([["lost"], ["ended", null, "There is no terminal."]]);
});
