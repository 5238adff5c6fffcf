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
  /** Whether a task's prompt was removed from the queue, so that no turn began. */
  wasRemoved?: (taskId: string) => boolean;
}

/** Messages that are drawn close together when they follow each other. */
const COMPACT = new Set(["tool", "thought", "update"]);

export function rowsOf(source: RowSource): Row[] {
  const { message: messageOf, sessionId, hasOlder, hasNewer, isFork, wasRemoved = () => false } = source;
  const ids = withRemovedAfterTurns(source.ids, messageOf, wasRemoved);
  const lastOfTask = new Map<string, string>();
  for (const id of ids) {
    const taskId = messageOf(id)?.taskId;
    if (taskId && !wasRemoved(taskId)) lastOfTask.set(taskId, id);
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

/** Moves prompts that were removed from the queue behind the turn that ran then: the server places them where the
 * transcript ended at that moment, which is the middle of that turn. */
function withRemovedAfterTurns(
  ids: readonly string[],
  messageOf: RowSource["message"],
  wasRemoved: (taskId: string) => boolean,
): readonly string[] {
  const isRemoved = (id: string) => {
    const taskId = messageOf(id)?.taskId;
    return Boolean(taskId && wasRemoved(taskId));
  };
  if (!ids.some(isRemoved)) return ids;
  const ordered: string[] = [];
  let removed: string[] = [];
  let turn: string | null | undefined;
  for (const id of ids) {
    if (isRemoved(id)) {
      removed.push(id);
      continue;
    }
    const taskId = messageOf(id)?.taskId;
    if (taskId && taskId !== turn) {
      ordered.push(...removed);
      removed = [];
      turn = taskId;
    }
    ordered.push(id);
  }
  return [...ordered, ...removed];
}

/** Whether rows were only added in front of the existing ones. */
export const isPrepended = (before: readonly Row[], after: readonly Row[]): boolean =>
  before.length > 0 &&
  after.length > before.length &&
  after[0]!.key !== before[0]!.key &&
  after.at(-1)!.key === before.at(-1)!.key &&
  after[after.length - before.length]!.key === before[0]!.key;
