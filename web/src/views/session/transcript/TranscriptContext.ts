/** Gives every message of a transcript its session, tasks and folding state. */
import { useQuery } from "@tanstack/react-query";
import { createContext, useContext, useMemo, useSyncExternalStore } from "react";
import { taskQuery } from "@/api/queries";
import type { Session, Task } from "@/api/types";
import { relativeTo } from "@/lib/paths";
import type { Transcript } from "@/live/transcript/transcript";

/** Remembers what the reader opened and closed, also for messages that are scrolled out of sight and unmounted. */
export class FoldStore {
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

export interface TranscriptContextValue {
  session: Session;
  transcript: Transcript;
  tasks: ReadonlyMap<string, Task>;
  folds: FoldStore;
  onFork: (taskId: string) => void;
}

export const TranscriptContext = createContext<TranscriptContextValue | null>(null);

export function useTranscriptContext(): TranscriptContextValue {
  const value = useContext(TranscriptContext);
  if (!value) throw new Error("useTranscriptContext() needs a TranscriptContext above the component.");
  return value;
}

/** Returns whether a part is open, and a function that toggles it. */
export function useFold(key: string, startOpen = false): [boolean, () => void] {
  const { folds } = useTranscriptContext();
  const open = useSyncExternalStore(folds.subscribe, () => folds.get(key)) ?? startOpen;
  return [open, () => folds.set(key, !open)];
}

/** Returns a message's task, and fetches it if it is older than the loaded ones. */
export function useTaskOf(taskId: string | null): Task | undefined {
  const { tasks } = useTranscriptContext();
  const loaded = taskId ? tasks.get(taskId) : undefined;
  const { data } = useQuery({ ...taskQuery(taskId ?? ""), enabled: Boolean(taskId && !loaded) });
  return loaded ?? data;
}

/** Returns a function that shortens paths inside the session's folder. */
export function useShortPath(): (path: string) => string {
  const { cwd } = useTranscriptContext().session;
  return useMemo(() => (path: string) => relativeTo(path, cwd), [cwd]);
}
