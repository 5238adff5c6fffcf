/** Tests the transcript store: pages, gaps, queued prompts and inherited messages. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  delta,
  event,
  FakeServer,
  growingMessage,
  manyMessages,
  message,
  openTranscript,
  timeAt,
} from "./testServer";
import { OLDER_PAGE, PAGE, QUEUED_BASE, Transcript } from "./transcript";

const frame = () => vi.advanceTimersByTimeAsync(20);
const text = (transcript: Transcript, id: string) => transcript.entry(id)?.text;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("pages", () => {
  it("opens at the newest messages and pages backwards to the first", async () => {
    const transcript = await openTranscript(new FakeServer(manyMessages(300)));
    expect(transcript.outline().ids.length).toBe(PAGE);
    expect(transcript.outline().hasOlder).toBe(true);
    await transcript.loadOlder();
    expect(transcript.outline().ids.length).toBe(PAGE + OLDER_PAGE);
    await transcript.loadOlder();
    expect(transcript.outline()).toMatchObject({ hasOlder: false, hasNewer: false });
    expect(transcript.outline().ids).toEqual(manyMessages(300).map((message) => message.id));
  });

  it("opens around a message, pages forwards, and appends no new message after a hole", async () => {
    const server = new FakeServer(manyMessages(200));
    const transcript = await openTranscript(server, "m50");
    expect(transcript.outline()).toMatchObject({ hasOlder: true, hasNewer: true });
    const fresh = message("fresh", 201);
    transcript.take(event("message.created", fresh));
    await frame();
    expect(transcript.outline().ids).not.toContain("fresh");
    server.messages.push(fresh);
    while (transcript.outline().hasNewer) await transcript.loadNewer();
    expect(transcript.outline().ids.at(-1)).toBe("fresh");
  });

  it("keeps a message that is created while the last page loads", async () => {
    const server = new FakeServer(manyMessages(100));
    const transcript = await openTranscript(server, "m50");
    let open = () => {};
    server.gate = new Promise((resolve) => {
      open = resolve;
    });
    const paging = transcript.loadNewer();
    transcript.take(event("message.created", message("fresh", 101)));
    open();
    await paging;
    expect(transcript.outline().hasNewer).toBe(false);
    expect(transcript.outline().ids.at(-1)).toBe("fresh");
  });

  it("opens at the newest message when the linked one is gone", async () => {
    const transcript = await openTranscript(new FakeServer(manyMessages(10)), "gone");
    expect(transcript.outline()).toMatchObject({ status: "ready", hasNewer: false });
    expect(transcript.outline().ids.length).toBe(10);
  });

  it("requests a page only once at a time", async () => {
    const server = new FakeServer(manyMessages(300));
    const transcript = await openTranscript(server);
    await Promise.all([transcript.loadOlder(), transcript.loadOlder()]);
    expect(server.queries.length).toBe(2);
  });

  it("ignores a patched message whose page is not loaded", async () => {
    const transcript = await openTranscript(new FakeServer(manyMessages(300)));
    transcript.take(event("message.patched", message("m3", 4, { updatedAt: timeAt(999) })));
    await frame();
    expect(transcript.entry("m3")).toBeUndefined();
    expect(transcript.outline().ids[0]).toBe("m240");
  });

  it("shows inherited messages before the fork's own, in order", async () => {
    const parent = [1, 2, 3].map((n) => message(`p${n}`, n, { sessionId: "parent" }));
    const transcript = await openTranscript(new FakeServer(manyMessages(2), parent));
    expect(transcript.outline().hasOlder).toBe(false);
    transcript.includeInherited();
    await transcript.loadOlder();
    expect(transcript.outline().ids).toEqual(["p1", "p2", "p3", "m0", "m1"]);
    expect(transcript.outline().hasOlder).toBe(false);
  });
});

describe("the queue", () => {
  const queued = (id: string) => message(id, QUEUED_BASE + 5, { role: "user" });

  it("leaves out queued prompts, even if they fill a page", async () => {
    const queue = Array.from({ length: PAGE + 5 }, (_, n) => message(`q${n}`, QUEUED_BASE + n));
    const transcript = await openTranscript(new FakeServer([...manyMessages(3), ...queue]));
    expect(transcript.outline().ids).toEqual(["m0", "m1", "m2"]);
  });

  it("stops paging forwards at the queue", async () => {
    const queue = Array.from({ length: PAGE + 5 }, (_, n) => message(`q${n}`, QUEUED_BASE + n));
    const transcript = await openTranscript(new FakeServer([...manyMessages(100), ...queue]), "m10");
    for (let n = 0; n < 5 && transcript.outline().hasNewer; n += 1) await transcript.loadNewer();
    expect(transcript.outline().hasNewer).toBe(false);
    expect(transcript.outline().ids.length).toBe(100);
  });

  it("adds a prompt when it starts and removes it when it is queued again", async () => {
    const transcript = await openTranscript(new FakeServer(manyMessages(2)));
    transcript.take(event("message.created", queued("p")));
    await frame();
    expect(transcript.outline().ids).toEqual(["m0", "m1"]);
    transcript.take(event("message.patched", { ...queued("p"), position: 3, updatedAt: timeAt(50) }));
    await frame();
    expect(transcript.outline().ids).toEqual(["m0", "m1", "p"]);
    transcript.take(event("message.patched", { ...queued("p"), updatedAt: timeAt(51) }));
    await frame();
    expect(transcript.outline().ids).toEqual(["m0", "m1"]);
  });

  it("moves and removes messages", async () => {
    const transcript = await openTranscript(new FakeServer(manyMessages(3)));
    transcript.take(event("message.patched", message("m0", 9, { updatedAt: timeAt(50) })));
    transcript.take(event("message.removed", message("m1", 2)));
    await frame();
    expect(transcript.outline().ids).toEqual(["m2", "m0"]);
  });
});

describe("gaps and breaks", () => {
  it("applies events that arrive while the first page loads", async () => {
    const server = new FakeServer([growingMessage("g", 1, "ab")]);
    const transcript = new Transcript("s", server);
    const loading = transcript.load();
    transcript.take(delta("g", 2, "c"));
    transcript.take(event("message.created", message("m", 2)));
    await loading;
    expect(text(transcript, "g")).toBe("abc");
    expect(transcript.outline().ids).toEqual(["g", "m"]);
  });

  it("catches up after a gap and keeps the loaded pages", async () => {
    const server = new FakeServer(manyMessages(300));
    const transcript = await openTranscript(server);
    await transcript.loadOlder();
    const patched = message("m100", 101, {
      content: { type: "text", text: "changed" },
      updatedAt: timeAt(400),
    });
    server.messages = [
      ...server.messages.with(100, patched),
      message("new", 301, { updatedAt: timeAt(401) }),
    ];
    await transcript.refresh();
    await frame();
    expect(transcript.outline().ids.length).toBe(PAGE + OLDER_PAGE + 1);
    expect(text(transcript, "m100")).toBe("changed");
    expect(transcript.outline().ids.at(-1)).toBe("new");
  });

  it("reloads after a gap with too many changes", async () => {
    const server = new FakeServer(manyMessages(100));
    const transcript = await openTranscript(server);
    server.messages = manyMessages(900).map((old) => ({ ...old, updatedAt: timeAt(5000 + old.position) }));
    await transcript.refresh();
    expect(transcript.outline().ids.at(-1)).toBe("m899");
    expect(transcript.outline().ids.length).toBe(PAGE);
  });

  it("reports a failed load, and recovers", async () => {
    const server = new FakeServer(manyMessages(3));
    const page = vi.spyOn(server, "page").mockRejectedValueOnce(new Error("no"));
    const transcript = await openTranscript(server);
    expect(transcript.outline().status).toBe("failed");
    page.mockRestore();
    await transcript.load();
    expect(transcript.outline()).toMatchObject({ status: "ready", error: null });
    expect(transcript.outline().ids.length).toBe(3);
  });

  it("ignores events of other sessions", async () => {
    const transcript = await openTranscript(new FakeServer(manyMessages(1)));
    transcript.take({ ...event("message.created", message("x", 2)), sessionId: "other" });
    await frame();
    expect(transcript.outline().ids).toEqual(["m0"]);
  });
});
