/** Moving in the queue: what the server is told (before which other task), and how the list looks until it answers. */
import type { Task } from "@/api/types";

/** `before` for one step up or down: a task's id, "" for the end, `null` when it already stands there. */
export function stepTarget(waiting: readonly Task[], taskId: string, by: -1 | 1): string | null {
  const at = waiting.findIndex((task) => task.id === taskId);
  const to = at + by;
  if (at < 0 || to < 0 || to >= waiting.length) return null;
  return by < 0 ? waiting[to]!.id : (waiting[to + 1]?.id ?? "");
}

/** `before` when one is dropped onto the place of another; `null` if nothing would change. */
export function dropTarget(waiting: readonly Task[], taskId: string, ontoId: string): string | null {
  const from = waiting.findIndex((task) => task.id === taskId);
  const to = waiting.findIndex((task) => task.id === ontoId);
  if (from < 0 || to < 0 || from === to) return null;
  return from > to ? ontoId : (waiting[to + 1]?.id ?? "");
}

export function moved(waiting: readonly Task[], taskId: string, before: string): Task[] {
  const task = waiting.find((one) => one.id === taskId);
  if (!task) return [...waiting];
  const others = waiting.filter((one) => one.id !== taskId);
  const at = before ? others.findIndex((one) => one.id === before) : others.length;
  return at < 0 ? [...waiting] : others.toSpliced(at, 0, task);
}
