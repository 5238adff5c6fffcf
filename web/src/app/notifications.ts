/** Shows system notifications about what needs the user while the page is not in front. They are enabled in the settings. */
import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import type { Approval, Session, Task } from "@/api/types";
import { usePref } from "@/lib/prefs";
import type { LiveEvent } from "@/live/eventStream";
import { useStream } from "@/live/hooks";
import { routes } from "./routes";

export type NotificationLevel = "off" | "needed" | "all";

export const canNotify = () => typeof Notification !== "undefined";

/** Asks for permission; returns whether it was granted. */
export const requestPermission = async (): Promise<boolean> =>
  canNotify() && (await Notification.requestPermission()) === "granted";

export interface PageNotification {
  tag: string;
  title: string;
  body: string;
  sessionId: string;
}

/** Returns the notification for an event, if it deserves one. */
export function notificationFor(event: LiveEvent, level: NotificationLevel): PageNotification | null {
  if (level === "off") return null;
  if (event.type === "approval.created") {
    const approval = event.data as Approval;
    if (approval.status !== "pending") return null;
    return {
      tag: `approval-${approval.id}`,
      title: "Approval needed",
      body: approval.title,
      sessionId: approval.sessionId,
    };
  }
  if (event.type === "task.patched") {
    const task = event.data as Task;
    const of = { tag: `task-${task.id}`, body: task.prompt.slice(0, 140), sessionId: task.sessionId };
    if (task.status === "failed") return { ...of, title: "Turn failed" };
    // Agents read the results of what they asked each other.
    const own = task.source === "user" || task.source === "initial";
    if (task.status === "completed" && level === "all" && own) return { ...of, title: "Turn finished" };
  }
  if (event.type === "session.patched") {
    const session = event.data as Session;
    if (session.status === "error")
      return {
        tag: `session-${session.id}`,
        title: "Session failed",
        body: session.title || session.agent,
        sessionId: session.id,
      };
  }
  return null;
}

function notify({ title, body, tag }: PageNotification): Notification | null {
  try {
    return new Notification(title, { body, tag, icon: "/icon.svg" });
  } catch {
    // Phone browsers have the class but do not let pages use it.
    return null;
  }
}

export function useNotifications(): void {
  const [level] = usePref<NotificationLevel>("notices", "off");
  const stream = useStream();
  const [, navigate] = useLocation();
  const go = useRef(navigate);
  go.current = navigate;
  useEffect(() => {
    if (level === "off" || !canNotify() || Notification.permission !== "granted") return;
    return stream.listen((event) => {
      // Events missed while the page was offline are shown on it; notifying about all of them would be too much.
      const live = stream.connection.get().state === "live";
      const notice = live && !document.hasFocus() ? notificationFor(event, level) : null;
      const shown = notice && notify(notice);
      if (!shown) return;
      shown.onclick = () => {
        window.focus();
        go.current(routes.session(notice.sessionId));
        shown.close();
      };
    });
  }, [stream, level]);
}
