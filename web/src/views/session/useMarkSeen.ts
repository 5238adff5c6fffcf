/** Marks a session as seen when it is shown, and whenever a turn ends while it is shown. Viewers mark nothing: unread
 * marks are shared by everybody. */
import { useEffect, useSyncExternalStore } from "react";
import { seeSession } from "@/api/actions";
import { useMay, useMe } from "@/api/queries";
import type { Session, Task } from "@/api/types";

const followVisibility = (listener: () => void) => {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
};

/** Returns when the latest turn ended; "" if none has. */
export const lastTurnEnd = (tasks: readonly Task[]): string =>
  tasks.reduce((latest, task) => (task.endedAt && task.endedAt > latest ? task.endedAt : latest), "");

/** Tells whether the page is in view and the user may mark sessions. */
function useMayMark(): boolean {
  const visible = useSyncExternalStore(followVisibility, () => document.visibilityState === "visible");
  // Not before the role is known: a viewer's request would be refused.
  const isKnown = useMe().isSuccess;
  return useMay("operator") && isKnown && visible;
}

export function useMarkSeen(session: Session, tasks: readonly Task[]): void {
  const mayMark = useMayMark();
  const { id } = session;
  const ended = lastTurnEnd(tasks);
  const unseen = ended !== "" && (!session.seenAt || session.seenAt < ended);
  useEffect(() => {
    // Errors are ignored: the next visit marks it again.
    if (mayMark && unseen && ended) seeSession(id).catch(() => undefined);
  }, [id, mayMark, unseen, ended]);
}

/** Marks sessions as seen that were shown together. */
export function useMarkAllSeen(ids: readonly string[]): void {
  const mayMark = useMayMark();
  const key = ids.join(" ");
  useEffect(() => {
    if (!mayMark || !key) return;
    for (const id of key.split(" ")) seeSession(id).catch(() => undefined);
  }, [mayMark, key]);
}
