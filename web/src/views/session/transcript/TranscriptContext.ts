/** What every entry of a transcript may need to know of its surroundings, and which of its parts are folded. */
import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useMemo, useSyncExternalStore } from "react";
import { taskQuery } from "@/api/queries";
import type { Session, Task } from "@/api/types";
import type { Transcript } from "@/live/transcript/transcript";
import { inFolder } from "@/views/approvals/approvalDetails";

/** What the reader opened and closed; it outlasts entries, which are not there while they are out of sight. */
export class Folds {
  #open = new Map<string, boolean>();
  #listeners = new Set<() => void>();

  get = (key: string): boolean | undefined => this.#open.get(key);

  set(key: string, open: boolean): void {
    this.#open.set(key, open);
    for (const listener of this.#listeners) listener();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export interface Around {
  session: Session;
  transcript: Transcript;
  tasks: ReadonlyMap<string, Task>;
  folds: Folds;
  onFork: (taskId: string) => void;
}

export const AroundContext = createContext<Around | null>(null);

export function useAround(): Around {
  const around = useContext(AroundContext);
  if (!around) throw new Error("There is no transcript around this entry.");
  return around;
}

/** Whether a part is open: as the reader left it, else as it is at first. */
export function useFold(key: string, first = false): [boolean, () => void] {
  const { folds } = useAround();
  const open = useSyncExternalStore(folds.subscribe, () => folds.get(key)) ?? first;
  return [open, () => folds.set(key, !open)];
}

/** The task of a message: mostly at hand, asked for if it is older than those that are. */
export function useTaskOf(taskId: string | null): Task | undefined {
  const { tasks } = useAround();
  const known = taskId ? tasks.get(taskId) : undefined;
  const { data } = useQuery({ ...taskQuery(taskId ?? ""), enabled: Boolean(taskId && !known) });
  return known ?? data;
}

/** A path as it is seen from the session's folder. */
export function useShortPath(): (path: string) => string {
  const { cwd } = useAround().session;
  return useMemo(() => (path: string) => inFolder(path, cwd), [cwd]);
}
