/** Keeps the store of a transcript right: pages, gaps, the queue and what a fork inherited. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { at, delta, event, growing, many, message, opened, Server } from "./testServer";
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
  it("opens at the newest and pages backwards to the beginning", async () => {
    const transcript = await opened(new Server(many(300)));
    expect(transcript.shape().ids.length).toBe(PAGE);
    expect(transcript.shape().older).toBe(true);
    await transcript.loadOlder();
    expect(transcript.shape().ids.length).toBe(PAGE + OLDER_PAGE);
    await transcript.loadOlder();
    expect(transcript.shape()).toMatchObject({ older: false, newer: false });
    expect(transcript.shape().ids).toEqual(many(300).map((one) => one.id));
  });

  it("opens around a message and pages forwards; what is created meanwhile is not put behind a hole", async () => {
    const server = new Server(many(200));
    const transcript = await opened(server, "m50");
    expect(transcript.shape()).toMatchObject({ older: true, newer: true });
    const fresh = message("fresh", 201);
    transcript.take(event("message.created", fresh));
    await frame();
    expect(transcript.shape().ids).not.toContain("fresh");
    server.messages.push(fresh);
    while (transcript.shape().newer) await transcript.loadNewer();
    expect(transcript.shape().ids.at(-1)).toBe("fresh");
  });

  it("keeps what is created while the last page is on its way", async () => {
    const server = new Server(many(100));
    const transcript = await opened(server, "m50");
    let open = () => {};
    server.gate = new Promise((resolve) => {
      open = resolve;
    });
    const paging = transcript.loadNewer();
    transcript.take(event("message.created", message("fresh", 101)));
    open();
    await paging;
    expect(transcript.shape().newer).toBe(false);
    expect(transcript.shape().ids.at(-1)).toBe("fresh");
  });

  it("opens at the newest when the message is gone", async () => {
    const transcript = await opened(new Server(many(10)), "gone");
    expect(transcript.shape()).toMatchObject({ state: "ready", newer: false });
    expect(transcript.shape().ids.length).toBe(10);
  });

  it("asks once for a page, however often it is wanted", async () => {
    const server = new Server(many(300));
    const transcript = await opened(server);
    await Promise.all([transcript.loadOlder(), transcript.loadOlder()]);
    expect(server.asked.length).toBe(2);
  });

  it("leaves a patched message alone whose page is not here", async () => {
    const transcript = await opened(new Server(many(300)));
    transcript.take(event("message.patched", message("m3", 4, { updatedAt: at(999) })));
    await frame();
    expect(transcript.entry("m3")).toBeUndefined();
    expect(transcript.shape().ids[0]).toBe("m240");
  });

  it("shows what a fork inherited before its own beginning, in order", async () => {
    const parent = [1, 2, 3].map((n) => message(`p${n}`, n, { sessionId: "parent" }));
    const transcript = await opened(new Server(many(2), parent));
    expect(transcript.shape().older).toBe(false);
    transcript.inherit();
    await transcript.loadOlder();
    expect(transcript.shape().ids).toEqual(["p1", "p2", "p3", "m0", "m1"]);
    expect(transcript.shape().older).toBe(false);
  });
});

describe("the queue", () => {
  const waiting = (id: string) => message(id, QUEUED_BASE + 5, { role: "user" });

  it("leaves waiting prompts out, also when they fill a page", async () => {
    const queue = Array.from({ length: PAGE + 5 }, (_, n) => message(`q${n}`, QUEUED_BASE + n));
    const transcript = await opened(new Server([...many(3), ...queue]));
    expect(transcript.shape().ids).toEqual(["m0", "m1", "m2"]);
  });

  it("ends paging forwards at the queue", async () => {
    const queue = Array.from({ length: PAGE + 5 }, (_, n) => message(`q${n}`, QUEUED_BASE + n));
    const transcript = await opened(new Server([...many(100), ...queue]), "m10");
    for (let n = 0; n < 5 && transcript.shape().newer; n += 1) await transcript.loadNewer();
    expect(transcript.shape().newer).toBe(false);
    expect(transcript.shape().ids.length).toBe(100);
  });

  it("takes a prompt in when its turn comes, and out when it is put back", async () => {
    const transcript = await opened(new Server(many(2)));
    transcript.take(event("message.created", waiting("p")));
    await frame();
    expect(transcript.shape().ids).toEqual(["m0", "m1"]);
    transcript.take(event("message.patched", { ...waiting("p"), position: 3, updatedAt: at(50) }));
    await frame();
    expect(transcript.shape().ids).toEqual(["m0", "m1", "p"]);
    transcript.take(event("message.patched", { ...waiting("p"), updatedAt: at(51) }));
    await frame();
    expect(transcript.shape().ids).toEqual(["m0", "m1"]);
  });

  it("moves and removes messages", async () => {
    const transcript = await opened(new Server(many(3)));
    transcript.take(event("message.patched", message("m0", 9, { updatedAt: at(50) })));
    transcript.take(event("message.removed", message("m1", 2)));
    await frame();
    expect(transcript.shape().ids).toEqual(["m2", "m0"]);
  });
});

describe("gaps and breaks", () => {
  it("adds what comes while the first page is on its way", async () => {
    const server = new Server([growing("g", 1, "ab")]);
    const transcript = new Transcript("s", server);
    const loading = transcript.load();
    transcript.take(delta("g", 2, "c"));
    transcript.take(event("message.created", message("m", 2)));
    await loading;
    expect(text(transcript, "g")).toBe("abc");
    expect(transcript.shape().ids).toEqual(["g", "m"]);
  });

  it("catches up after a gap and keeps the pages that are here", async () => {
    const server = new Server(many(300));
    const transcript = await opened(server);
    await transcript.loadOlder();
    const patched = message("m100", 101, { content: { type: "text", text: "changed" }, updatedAt: at(400) });
    server.messages = [...server.messages.with(100, patched), message("new", 301, { updatedAt: at(401) })];
    await transcript.refresh();
    await frame();
    expect(transcript.shape().ids.length).toBe(PAGE + OLDER_PAGE + 1);
    expect(text(transcript, "m100")).toBe("changed");
    expect(transcript.shape().ids.at(-1)).toBe("new");
  });

  it("loads anew after a gap in which too much has changed", async () => {
    const server = new Server(many(100));
    const transcript = await opened(server);
    server.messages = many(900).map((one) => ({ ...one, updatedAt: at(5000 + one.position) }));
    await transcript.refresh();
    expect(transcript.shape().ids.at(-1)).toBe("m899");
    expect(transcript.shape().ids.length).toBe(PAGE);
  });

  it("says that it failed, and recovers", async () => {
    const server = new Server(many(3));
    const page = vi.spyOn(server, "page").mockRejectedValueOnce(new Error("no"));
    const transcript = await opened(server);
    expect(transcript.shape().state).toBe("failed");
    page.mockRestore();
    await transcript.load();
    expect(transcript.shape()).toMatchObject({ state: "ready", error: null });
    expect(transcript.shape().ids.length).toBe(3);
  });

  it("ignores other sessions", async () => {
    const transcript = await opened(new Server(many(1)));
    transcript.take({ ...event("message.created", message("x", 2)), sessionId: "other" });
    await frame();
    expect(transcript.shape().ids).toEqual(["m0"]);
  });
});
