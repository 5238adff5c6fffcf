/** Tests how streamed text grows: code points, missing deltas, and patches that are behind or late. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { delta, event, FakeServer, growingMessage, message, openTranscript, timeAt } from "./testServer";
import type { Transcript } from "./transcript";

const frame = () => vi.advanceTimersByTimeAsync(20);
const text = (transcript: Transcript, id: string) => transcript.entry(id)?.text;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("growing text", () => {
  it("counts code points and skips text it already has", async () => {
    const transcript = await openTranscript(new FakeServer([growingMessage("g", 1, "🌳a")]));
    transcript.take(delta("g", 2, "é🌱"));
    transcript.take(delta("g", 3, "🌱z"));
    transcript.take(delta("g", 0, "🌳aé🌱z!", "message.snapshot"));
    await frame();
    expect(text(transcript, "g")).toBe("🌳aé🌱z!");
  });

  it("redraws only the message that grew, once per frame", async () => {
    const transcript = await openTranscript(new FakeServer([message("m", 1), growingMessage("g", 2, "")]));
    const [grown, other, outline] = [vi.fn(), vi.fn(), vi.fn()];
    transcript.follow("g", grown);
    transcript.follow("m", other);
    transcript.followOutline(outline);
    for (let n = 0; n < 50; n += 1) transcript.take(delta("g", n, "x"));
    await frame();
    expect(grown).toHaveBeenCalledTimes(1);
    expect(other).not.toHaveBeenCalled();
    expect(outline).not.toHaveBeenCalled();
  });

  it("fills a hole from the stored message, requested once, and appends the later deltas", async () => {
    const server = new FakeServer([growingMessage("g", 1, "abc")]);
    const transcript = await openTranscript(server);
    server.messages = [growingMessage("g", 1, "abcdef", 5)];
    transcript.take(delta("g", 6, "g"));
    transcript.take(delta("g", 7, "h"));
    await frame();
    expect(text(transcript, "g")).toBe("abcdefgh");
    expect(server.fetched).toEqual(["g"]);
  });

  it("does not request the stored message with every delta while it is behind", async () => {
    const server = new FakeServer([growingMessage("g", 1, "abc")]);
    const transcript = await openTranscript(server);
    for (let n = 10; n < 60; n += 1) transcript.take(delta("g", n, "x"));
    await frame();
    expect(server.fetched.length).toBe(1);
    expect(text(transcript, "g")).toBe("abc");
    transcript.take(event("message.patched", growingMessage("g", 1, "0123456789", 9)));
    expect(text(transcript, "g")).toBe(`0123456789${"x".repeat(50)}`);
  });

  it("keeps text that is ahead of a partial patch, and takes the final text as it is", async () => {
    const transcript = await openTranscript(new FakeServer([growingMessage("g", 1, "ab")]));
    transcript.take(delta("g", 2, "cd"));
    transcript.take(event("message.patched", growingMessage("g", 1, "abc", 5)));
    expect(text(transcript, "g")).toBe("abcd");
    const last = message("g", 1, {
      content: { type: "text", text: "ab!", partial: false },
      updatedAt: timeAt(6),
    });
    transcript.take(event("message.patched", last));
    expect(text(transcript, "g")).toBe("ab!");
    transcript.take(event("message.patched", growingMessage("g", 1, "old", 2)));
    expect(text(transcript, "g")).toBe("ab!");
  });

  it("fetches content that was too large for an event", async () => {
    const server = new FakeServer([]);
    const transcript = await openTranscript(server);
    server.messages = [message("big", 1)];
    transcript.take(
      event("message.created", message("big", 1, { content: { type: "omitted", bytes: 99999 } })),
    );
    await frame();
    expect(text(transcript, "big")).toBe("big");
  });
});
