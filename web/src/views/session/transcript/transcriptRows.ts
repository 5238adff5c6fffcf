/** Builds the rows of a transcript: its messages, a line at the end of each turn, and the point where a fork began. */
import type { Message } from "@/api/types";

export type Row =
  | { readonly kind: "message"; readonly key: string; readonly tight: boolean }
  | { readonly kind: "turn"; readonly key: string; readonly taskId: string }
  | { readonly kind: "fork"; readonly key: string };

export interface RowSource {
  ids: readonly string[];
  message: (id: string) => Message | undefined;
  sessionId: string;
  /** Whether the server has more messages before or after these. */
  hasOlder: boolean;
  hasNewer: boolean;
  isFork: boolean;
}

/** Messages that are drawn close together when they follow each other. */
const COMPACT = new Set(["tool", "thought", "update"]);

export function rowsOf({ ids, message: messageOf, sessionId, hasOlder, hasNewer, isFork }: RowSource): Row[] {
  const lastOfTask = new Map<string, string>();
  for (const id of ids) {
    const taskId = messageOf(id)?.taskId;
    if (taskId) lastOfTask.set(taskId, id);
  }
  const rows: Row[] = [];
  let previousType = "";
  let sawOwnMessage = false;
  for (const id of ids) {
    const message = messageOf(id);
    if (!message) continue;
    if (isFork && !sawOwnMessage && message.sessionId === sessionId) {
      sawOwnMessage = true;
      if (rows.length || !hasOlder) rows.push({ kind: "fork", key: "fork" });
    }
    const { type } = message.content;
    rows.push({ kind: "message", key: id, tight: COMPACT.has(type) && COMPACT.has(previousType) });
    previousType = type;
    const { taskId } = message;
    // The last turn of a page that is not the newest may continue on the next page.
    if (!taskId || lastOfTask.get(taskId) !== id || (hasNewer && id === ids.at(-1))) continue;
    rows.push({ kind: "turn", key: `task:${taskId}`, taskId });
    previousType = "";
  }
  if (isFork && !sawOwnMessage && rows.length) rows.push({ kind: "fork", key: "fork" });
  return rows;
}

/** Whether rows were only added in front of the existing ones. */
export const isPrepended = (before: readonly Row[], after: readonly Row[]): boolean =>
  before.length > 0 &&
  after.length > before.length &&
  after[0]!.key !== before[0]!.key &&
  after.at(-1)!.key === before.at(-1)!.key &&
  after[after.length - before.length]!.key === before[0]!.key;
