/** Names modes, states and kinds, so that every view uses the same words. */
import type { Activity, Kind, Mode, Status, Stuck, TaskStatus } from "@/api/types";

/** The modes to choose from, from the fewest rights to the most. */
export const MODES: { mode: Mode; name: string; description: string }[] = [
  { mode: "plan", name: "Plan", description: "Reads and plans. Changes nothing." },
  {
    mode: "default",
    name: "Ask first",
    description: "Reads freely. Asks before every edit and every command.",
  },
  {
    mode: "acceptEdits",
    name: "Accept edits",
    description: "Edits files in its folder freely. Asks before commands and network access.",
  },
  {
    mode: "auto",
    name: "Auto",
    description: "Edits and runs commands inside its folder. Asks before anything outside it.",
  },
  {
    mode: "on-failure",
    name: "On failure",
    description: "Like Auto, but asks when blocked by permissions.",
  },
  {
    mode: "bypassPermissions",
    name: "Bypass permissions",
    description: "Never asks. The agent can do whatever its process can.",
  },
];

/** Modes that mean the same as another one; the server accepts them, pickers do not offer them. */
const ALIASES: Partial<Record<Mode, Mode>> = { ask: "default", "allow-all": "bypassPermissions" };

/** Returns the mode that an alias stands for. */
export const resolveMode = (mode: Mode): Mode => ALIASES[mode] ?? mode;

export const modeName = (mode: Mode) => MODES.find((item) => item.mode === resolveMode(mode))?.name ?? mode;

/** Tells whether a mode never asks; such modes are shown with a warning. */
export const neverAsks = (mode: Mode) => resolveMode(mode) === "bypassPermissions";

export const KIND_NAMES: Record<Kind, string> = {
  root: "Root",
  fork: "Fork",
  subsession: "Child",
  btw: "Side question",
};

/** The state of a session as the page shows it. */
export type DisplayState =
  | "new"
  | "idle"
  | "running"
  | "waiting"
  | "queued"
  | "paused"
  | "stalled"
  | "looping"
  | "done"
  | "cancelled"
  | "failed";

export interface StateFields {
  status: Status;
  activity: Activity;
  /** Whether the running turn does nothing, or repeats itself. */
  stuck?: Stuck | null;
  queuePaused?: boolean;
  queued?: number;
  asking?: number;
  /** Whether the last turn failed. */
  failed?: boolean;
}

export function displayState(stateFields: StateFields): DisplayState {
  if (stateFields.status === "error") return "failed";
  if (stateFields.status === "cancelled") return "cancelled";
  if (stateFields.status === "completed") return "done";
  if (stateFields.activity === "waiting_permission" || stateFields.asking) return "waiting";
  if (stateFields.activity === "running") return stateFields.stuck ?? "running";
  if (stateFields.queued) return stateFields.queuePaused ? "paused" : "queued";
  if (stateFields.failed) return "failed";
  return stateFields.activity === "not_started" ? "new" : "idle";
}

export const STATE_NAMES: Record<DisplayState, string> = {
  new: "Not started",
  idle: "Ready",
  running: "Working",
  stalled: "Stalled",
  looping: "Looping",
  waiting: "Needs your approval",
  queued: "Queued",
  paused: "Paused",
  done: "Completed",
  cancelled: "Cancelled",
  failed: "Failed",
};

export const TASK_STATUS_NAMES: Record<TaskStatus, string> = {
  queued: "Queued",
  steering: "Being sent",
  dispatching: "Starting",
  running: "Working",
  waiting_permission: "Needs your approval",
  stopping: "Stopping",
  interrupted: "Interrupted",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** Stop reasons of turns that the agent ended before its work was done. */
const EARLY_ENDS = ["max_tokens", "max_turn_requests", "refusal"];

export const endedEarly = (stopReason: unknown) => EARLY_ENDS.includes(String(stopReason));

/** Returns the name of a task's status; a turn that ended early is not called completed, and a parked one not
 * interrupted. */
export const taskStatusName = (task: {
  status: TaskStatus;
  stopReason?: string | null;
  parked?: object | null;
}) => {
  if (task.parked) return "Parked";
  return task.status === "completed" && endedEarly(task.stopReason)
    ? "Ended early"
    : TASK_STATUS_NAMES[task.status];
};

export const hasEnded = (status: TaskStatus) =>
  status === "completed" || status === "failed" || status === "cancelled";

/** Whether a prompt was removed from the queue, so that its turn never began. */
export const wasRemovedFromQueue = (task: { status: TaskStatus; startedAt: string | null }) =>
  task.status === "cancelled" && task.startedAt === null;

/** Returns a session's title, or else the beginning of its first prompt. */
export function sessionName(item: { title: string; firstPrompt?: string | null; id: string }): string {
  return item.title || item.firstPrompt?.trim().split("\n", 1)[0]?.slice(0, 120) || "Untitled session";
}
