/** Derives a session's state for the page from its record, tasks and approvals: what runs, what is queued, and what sending
 * a prompt would do now. */
import type { Approval, Mode, ParkedTask, Session, Task } from "@/api/types";
import { hasEnded, modeName } from "@/lib/words";

export interface SessionState {
  /** The task whose turn is under way or held. */
  currentTask: Task | null;
  queue: Task[];
  /** The turn was interrupted and continues only when a person resumes it. */
  held: boolean;
  /** The limit of the agent's account that the turn waits for, if it is parked and no person is asked about it. */
  parked: ParkedTask | null;
  /** The queue is paused and holds prompts back; an empty one continues with the next prompt. */
  paused: boolean;
  ended: boolean;
  /** The session failed and cannot be resumed, not even with a prompt. */
  broken: boolean;
  busy: boolean;
  /** The latest turn failed. */
  failed: boolean;
}

const isBroken = (session: Pick<Session, "status" | "metadata">) =>
  session.status === "error" && session.metadata.reason !== "marked_failed";

/** Whether the prompt's own turn has not begun: it is queued, or on its way into the running turn. */
const waits = (task: Task) => task.status === "queued" || task.status === "steering";

export function sessionState(
  session: Session,
  tasks: readonly Task[],
  approvals: readonly Approval[],
): SessionState {
  const currentTask = tasks.find((task) => !hasEnded(task.status) && !waits(task)) ?? null;
  const queue = tasks.filter((task) => task.status === "queued").sort((a, b) => a.position - b.position);
  const hasApproval = approvals.some((approval) => approval.taskId === currentTask?.id);
  const isHeld = isHeldTask(currentTask);
  return {
    currentTask,
    queue,
    held: isHeld && !hasApproval,
    parked: isHeld ? null : (currentTask?.parked ?? null),
    paused: session.queuePaused && session.status === "active" && queue.length > 0,
    ended: session.status !== "active",
    broken: isBroken(session),
    busy: currentTask !== null && !isHeld && !currentTask.parked,
    failed: lastTurn(tasks)?.status === "failed",
  };
}

const lastTurn = (tasks: readonly Task[]) =>
  tasks.reduce<Task | null>(
    (last, task) => (task.startedAt && (!last || task.position > last.position) ? task : last),
    null,
  );

const isHeldTask = (task: Task | null): boolean => task?.status === "interrupted" && task.held;

/** Returns the mode of the running turn if it differs from the mode that the next prompt will have, otherwise null. */
export function turnMode(session: Pick<Session, "permissionMode">, task: Task | null): Mode | null {
  if (task?.status !== "running" && task?.status !== "waiting_permission") return null;
  const mode = task.permissionMode ?? session.permissionMode;
  // Some modes are two words for the same rights.
  return modeName(mode) === modeName(session.permissionMode) ? null : mode;
}

export function ordinal(count: number): string {
  const tens = count % 100;
  const suffix = tens > 10 && tens < 14 ? "th" : (["th", "st", "nd", "rd"][count % 10] ?? "th");
  return `${count}${suffix}`;
}

/** Returns the send button's label, and a hint that explains it. */
export function sendButton(state: SessionState): { label: string; hint: string } {
  if (state.ended) return { label: "Resume and send", hint: "Session ended. Sending a prompt resumes it." };
  // Even if an approval asks about the held turn: a prompt answers it.
  if (isHeldTask(state.currentTask))
    return { label: "Resume and send", hint: "The interrupted turn continues first." };
  if (state.parked) return { label: "Queue", hint: "Sends after the parked turn." };
  if (state.paused) return { label: "Resume and send", hint: "Queue paused. Sending a prompt resumes it." };
  // A prompt that is about to start counts as the turn, not as the queue: it was just sent.
  const ahead = state.currentTask ? state.queue.length : state.queue.length - 1;
  if (ahead >= 0)
    return {
      label: "Queue",
      hint: ahead === 0 ? "Sends after this turn." : `Sends ${ordinal(ahead + 1)} in line, after this turn.`,
    };
  return { label: "Send", hint: "" };
}
