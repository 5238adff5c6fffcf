import { describe, expect, it } from "vitest";
import type { Message, Task } from "@/api/types";
import { endedEarly, taskStatusName } from "@/lib/words";
import { SILENT_AFTER, silentSince } from "./silence";

const START = Date.parse("2026-01-01T10:00:00Z");
const task = { id: "t", startedAt: "2026-01-01T10:00:00Z", updatedAt: "2026-01-01T10:00:00Z" } as Task;

function transcriptOf(messages: Partial<Message>[]) {
  const entries = new Map(
    messages.map((message, index) => [
      `${index}`,
      {
        id: `${index}`,
        message: { taskId: "t", content: { type: "text" }, ...message } as Message,
        text: "",
      },
    ]),
  );
  const outline = {
    ids: [...entries.keys()],
    status: "ready",
    error: null,
    hasOlder: false,
    hasNewer: false,
  } as const;
  return { outline: () => outline, entry: (id: string) => entries.get(id) };
}

describe("silentSince", () => {
  it("counts from the start of the turn, the last message and the last event", () => {
    const messages = [{ updatedAt: "2026-01-01T10:00:05Z" }];
    expect(silentSince(transcriptOf([]), task, 0, START + SILENT_AFTER - 1)).toBeNull();
    expect(silentSince(transcriptOf([]), task, 0, START + SILENT_AFTER)).toBe(START);
    expect(silentSince(transcriptOf(messages), task, 0, START + SILENT_AFTER)).toBeNull();
    expect(silentSince(transcriptOf(messages), task, 0, START + SILENT_AFTER + 5000)).toBe(START + 5000);
    expect(silentSince(transcriptOf(messages), task, START + 9000, START + 60_000)).toBe(START + 9000);
  });

  it("does not call an agent silent that waits for a tool", () => {
    const tool = (status: string) => [
      { updatedAt: "2026-01-01T10:00:05Z", content: { type: "tool", result: { status } } },
    ];
    expect(silentSince(transcriptOf(tool("in_progress")), task, 0, START + 60_000)).toBeNull();
    expect(silentSince(transcriptOf(tool("completed")), task, 0, START + 60_000)).toBe(START + 5000);
  });
});

describe("early ends", () => {
  it("are not called completed", () => {
    expect(taskStatusName({ status: "completed", stopReason: "max_tokens" })).toBe("Ended early");
    expect(taskStatusName({ status: "completed", stopReason: "end_turn" })).toBe("Completed");
    expect(taskStatusName({ status: "cancelled", stopReason: "refusal" })).toBe("Cancelled");
    expect(endedEarly(undefined)).toBe(false);
  });
});
