/** Reorders the queue: computes the `before` that the server is sent, and the order to show until it answers. */
import type { Task } from "@/api/types";

/** Returns `before` for one step up or down: a task's id, "" for the end, or null at the end of the list. */
export function beforeAfterStep(queue: readonly Task[], taskId: string, by: -1 | 1): string | null {
  const at = queue.findIndex((task) => task.id === taskId);
  const to = at + by;
  if (at < 0 || to < 0 || to >= queue.length) return null;
  return by < 0 ? queue[to]!.id : (queue[to + 1]?.id ?? "");
}

/** Returns `before` for a task dropped onto another one, or null if nothing changes. */
export function beforeAfterDrop(queue: readonly Task[], taskId: string, ontoId: string): string | null {
  const from = queue.findIndex((task) => task.id === taskId);
  const to = queue.findIndex((task) => task.id === ontoId);
  if (from < 0 || to < 0 || from === to) return null;
  return from > to ? ontoId : (queue[to + 1]?.id ?? "");
}

/** Returns the queue with a task moved before another one; unchanged if one of them is gone. */
export function reordered(queue: readonly Task[], taskId: string, before: string): Task[] {
  const task = queue.find(({ id }) => id === taskId);
  if (!task) return [...queue];
  const others = queue.filter(({ id }) => id !== taskId);
  const at = before ? others.findIndex(({ id }) => id === before) : others.length;
  return at < 0 ? [...queue] : others.toSpliced(at, 0, task);
}
