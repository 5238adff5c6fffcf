/** Tells since when the agent of a running turn has been silent. */
import type { Task } from "@/api/types";
import type { TranscriptEntry, TranscriptOutline } from "@/live/transcript/transcript";

/** Milliseconds without a word after which an agent is called silent. The command line uses the same time. */
export const SILENT_AFTER = 15_000;

const SETTLED = ["completed", "failed"];

interface TranscriptReader {
  outline: () => TranscriptOutline;
  entry: (id: string) => TranscriptEntry | undefined;
}

const isOpenTool = ({ message: { content } }: TranscriptEntry) =>
  content.type === "tool" &&
  !SETTLED.includes(String((content.result as { status?: unknown } | undefined)?.status));

/** Returns the time of the last word in milliseconds; null if the agent is not silent or waits for one of its tools.
 * `heardAt` is when the last event about its messages arrived, which may be newer than the messages; 0 if none has. */
export function silentSince(
  transcript: TranscriptReader,
  task: Task,
  heardAt: number,
  now: number,
): number | null {
  let last = Math.max(heardAt, Date.parse(task.startedAt ?? task.updatedAt));
  const { ids } = transcript.outline();
  for (let index = ids.length - 1; index >= 0; index--) {
    const entry = transcript.entry(ids[index]!);
    if (!entry?.message.taskId) continue;
    if (entry.message.taskId !== task.id) break;
    if (isOpenTool(entry)) return null;
    last = Math.max(last, Date.parse(entry.message.updatedAt));
  }
  return now - last >= SILENT_AFTER ? last : null;
}
