/** Marks a session as seen when it is shown, and whenever a turn ends while it is shown. */
import { useEffect, useSyncExternalStore } from "react";
import { seeSession } from "@/api/actions";
import type { Session, Task } from "@/api/types";

const followVisibility = (listener: () => void) => {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
};

/** Returns when the latest turn ended; "" if none has. */
export const lastTurnEnd = (tasks: readonly Task[]): string =>
  tasks.reduce((latest, task) => (task.endedAt && task.endedAt > latest ? task.endedAt : latest), "");

export function useMarkSeen(session: Session, tasks: readonly Task[]): void {
  const visible = useSyncExternalStore(followVisibility, () => document.visibilityState === "visible");
  const { id } = session;
  const ended = lastTurnEnd(tasks);
  const unseen = ended !== "" && (!session.seenAt || session.seenAt < ended);
  useEffect(() => {
    // Errors are ignored: the next visit marks it again.
    if (visible && unseen && ended) seeSession(id).catch(() => undefined);
  }, [id, visible, unseen, ended]);
}
