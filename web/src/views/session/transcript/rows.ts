/** The rows of a transcript: its messages, a line at the end of each task, and where a fork began. */
import type { Message } from "@/api/types";

export type Row =
  | { readonly kind: "message"; readonly key: string; readonly tight: boolean }
  | { readonly kind: "task"; readonly key: string; readonly taskId: string }
  | { readonly kind: "fork"; readonly key: string };

export interface Given {
  ids: readonly string[];
  message: (id: string) => Message | undefined;
  sessionId: string;
  /** Whether more of the same may come in front or behind. */
  older: boolean;
  newer: boolean;
  isFork: boolean;
}

const COMPACT = new Set(["tool", "thought", "update"]);

export function rowsOf({ ids, message, sessionId, older, newer, isFork }: Given): Row[] {
  const last = new Map<string, string>();
  for (const id of ids) {
    const taskId = message(id)?.taskId;
    if (taskId) last.set(taskId, id);
  }
  const rows: Row[] = [];
  let before = "";
  let own = false;
  for (const id of ids) {
    const one = message(id);
    if (!one) continue;
    if (isFork && !own && one.sessionId === sessionId) {
      own = true;
      if (rows.length || !older) rows.push({ kind: "fork", key: "fork" });
    }
    const type = one.content.type;
    rows.push({ kind: "message", key: id, tight: COMPACT.has(type) && COMPACT.has(before) });
    before = type;
    const { taskId } = one;
    // The last task of a page that is not the newest may go on behind it.
    if (!taskId || last.get(taskId) !== id || (newer && id === ids.at(-1))) continue;
    rows.push({ kind: "task", key: `task:${taskId}`, taskId });
    before = "";
  }
  if (isFork && !own && rows.length) rows.push({ kind: "fork", key: "fork" });
  return rows;
}

/** Whether rows were only added in front of what was there. */
export const isPrepended = (before: readonly Row[], after: readonly Row[]): boolean =>
  before.length > 0 &&
  after.length > before.length &&
  after[0]!.key !== before[0]!.key &&
  after.at(-1)!.key === before.at(-1)!.key &&
  after[after.length - before.length]!.key === before[0]!.key;
