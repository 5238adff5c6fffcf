/** How a session stands for its person, read from its record and its tasks: what runs, what waits, what is held, and what
 * sending a prompt would do now. */
import type { Approval, Session, Task } from "@/api/types";
import { isOver } from "@/lib/words";

export interface Standing {
  /** The turn under way, also one that is held. */
  open: Task | null;
  waiting: Task[];
  /** A turn that was cut off and goes on only when a person says so. */
  held: boolean;
  paused: boolean;
  ended: boolean;
  /** It cannot go on, not even with a prompt. */
  broken: boolean;
  busy: boolean;
}

export const isBroken = (session: Pick<Session, "status" | "metadata">) =>
  session.status === "error" && session.metadata.reason !== "marked_failed";

export function standing(session: Session, tasks: readonly Task[], approvals: readonly Approval[]): Standing {
  const open = tasks.find((task) => !isOver(task.status) && task.status !== "queued") ?? null;
  const waiting = tasks.filter((task) => task.status === "queued").sort((a, b) => a.position - b.position);
  const asked = approvals.some((one) => one.taskId === open?.id);
  return {
    open,
    waiting,
    held: open?.status === "interrupted" && open.held && !asked,
    paused: session.queuePaused && session.status === "active",
    ended: session.status !== "active",
    broken: isBroken(session),
    busy: open !== null && !(open.status === "interrupted" && open.held),
  };
}

export function ordinal(count: number): string {
  const tens = count % 100;
  const ending = tens > 10 && tens < 14 ? "th" : (["th", "st", "nd", "rd"][count % 10] ?? "th");
  return `${count}${ending}`;
}

/** What the button of the box says. */
export function sending(now: Standing): { label: string; words: string } {
  if (now.ended) return { label: "Resume and send", words: "The session has ended. A prompt resumes it." };
  // Also when a person is asked about it: turning to the session is an answer.
  const held = now.open?.status === "interrupted" && now.open.held;
  if (now.paused || held)
    return {
      label: "Resume and send",
      words: held
        ? "The turn that was interrupted goes on first."
        : "The queue is paused. A prompt lets it go on.",
    };
  const place = now.waiting.length + 1;
  if (now.open || now.waiting.length)
    return {
      label: place === 1 ? "Queue (next)" : `Queue (${ordinal(place)} in line)`,
      words: "It is sent when what comes before it is done.",
    };
  return { label: "Send", words: "" };
}
