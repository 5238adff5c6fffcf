/** Notices of the system about what needs the person, while the page is not in front. They are asked for in the settings;
 * a page in front shows the same by itself. */
import { useEffect, useRef } from "react";
import { useLocation } from "wouter";
import type { Approval, Session, Task } from "@/api/types";
import { usePref } from "@/lib/prefs";
import type { LiveEvent } from "@/live/eventStream";
import { useStream } from "@/live/hooks";
import { routes } from "./routes";

export type Notices = "off" | "needed" | "all";

export const canNotify = () => typeof Notification !== "undefined";

/** Asks the browser, which asks the person. Whether it may. */
export const mayNotify = async (): Promise<boolean> =>
  canNotify() && (await Notification.requestPermission()) === "granted";

export interface Notice {
  tag: string;
  title: string;
  body: string;
  sessionId: string;
}

/** What an event is worth saying to somebody who looks elsewhere, if anything. */
export function noticeOf(event: LiveEvent, wanted: Notices): Notice | null {
  if (wanted === "off") return null;
  if (event.type === "approval.created") {
    const approval = event.data as Approval;
    if (approval.status !== "pending") return null;
    return {
      tag: `approval-${approval.id}`,
      title: "An agent waits for your answer",
      body: approval.title,
      sessionId: approval.sessionId,
    };
  }
  if (event.type === "task.patched") {
    const task = event.data as Task;
    const of = { tag: `task-${task.id}`, body: task.prompt.slice(0, 140), sessionId: task.sessionId };
    if (task.status === "failed") return { ...of, title: "A turn failed" };
    // What agents asked of each other is for them to read.
    const own = task.source === "user" || task.source === "initial";
    if (task.status === "completed" && wanted === "all" && own) return { ...of, title: "A turn is finished" };
  }
  if (event.type === "session.patched") {
    const session = event.data as Session;
    if (session.status === "error")
      return {
        tag: `session-${session.id}`,
        title: "A session ended in an error",
        body: session.title || session.agent,
        sessionId: session.id,
      };
  }
  return null;
}

function notify({ title, body, tag }: Notice): Notification | null {
  try {
    return new Notification(title, { body, tag, icon: "/icon.svg" });
  } catch {
    // Browsers of phones have the class and let no page make one.
    return null;
  }
}

export function useNotices(): void {
  const [wanted] = usePref<Notices>("notices", "off");
  const stream = useStream();
  const [, navigate] = useLocation();
  const go = useRef(navigate);
  go.current = navigate;
  useEffect(() => {
    if (wanted === "off" || !canNotify() || Notification.permission !== "granted") return;
    return stream.listen((event) => {
      // What was missed while the page was away is on it; nobody wants fifty notices on waking.
      const live = stream.connection.get().state === "live";
      const notice = live && !document.hasFocus() ? noticeOf(event, wanted) : null;
      const shown = notice && notify(notice);
      if (!shown) return;
      shown.onclick = () => {
        window.focus();
        go.current(routes.session(notice.sessionId));
        shown.close();
      };
    });
  }, [stream, wanted]);
}
