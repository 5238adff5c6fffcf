/** Tells the server that a person has seen how far the session is: when it is shown, and when a turn ends meanwhile. */
import { useEffect, useSyncExternalStore } from "react";
import { seeSession } from "@/api/actions";
import type { Session, Task } from "@/api/types";

const follow = (listener: () => void) => {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
};

/** When the newest turn was over; "" while none is. */
export const lastEnd = (tasks: readonly Task[]): string =>
  tasks.reduce((latest, task) => (task.endedAt && task.endedAt > latest ? task.endedAt : latest), "");

export function useSeen(session: Session, tasks: readonly Task[]): void {
  const visible = useSyncExternalStore(follow, () => document.visibilityState === "visible");
  const { id } = session;
  const ended = lastEnd(tasks);
  const unseen = ended !== "" && (!session.seenAt || session.seenAt < ended);
  useEffect(() => {
    // Nobody waits for this: what was not noted is noted the next time.
    if (visible && unseen && ended) seeSession(id).catch(() => undefined);
  }, [id, visible, unseen, ended]);
}
