/** Says which idle session was completed to make room for a new or resumed one. */
import { navigate } from "wouter/use-browser-location";
import { resumeSession, retryTask, runRequest } from "@/api/actions";
import type { MadeRoom } from "@/api/types";
import { routes } from "@/app/routes";
import { toast } from "@/ui/feedback/toast";

export const madeRoomText = (ended: MadeRoom) =>
  `${ended.title ? `“${ended.title}”` : `A session with ${ended.agent}`} was idle and is completed now, to make room. Sending it a prompt resumes it.`;

/** Shows the session that an answer says was completed, if there was one. */
export function toastMadeRoom({ madeRoom }: { madeRoom?: MadeRoom | null }): void {
  if (!madeRoom) return;
  toast(madeRoomText(madeRoom), {
    action: { label: "Show", run: () => navigate(routes.session(madeRoom.id)) },
  });
}

/** Resumes a session from a button; shows an error, or who made room, as a toast. */
export const resume = (sessionId: string) =>
  runRequest(async () => toastMadeRoom(await resumeSession(sessionId)));

/** Sends a task's prompt again from a button, with the same toasts. */
export const retry = (taskId: string) => runRequest(async () => toastMadeRoom(await retryTask(taskId)));
