/** Names modes, states and kinds, so that every view uses the same words. */
import type { Activity, Kind, Mode, Status, TaskStatus } from "@/api/types";

/** The modes to choose from, from the fewest rights to the most. */
export const MODES: { mode: Mode; name: string; words: string }[] = [
  { mode: "plan", name: "Plan", words: "Reads and plans. Changes nothing." },
  { mode: "default", name: "Ask first", words: "Reads freely. Asks before every edit and every command." },
  {
    mode: "acceptEdits",
    name: "Accept edits",
    words: "Edits files in its folder freely. Asks before commands and network access.",
  },
  {
    mode: "auto",
    name: "Auto",
    words: "Edits and runs commands inside its folder. Asks before anything outside it.",
  },
  {
    mode: "on-failure",
    name: "On failure",
    words: "Like Auto, but asks when blocked by permissions.",
  },
  {
    mode: "bypassPermissions",
    name: "Bypass permissions",
    words: "Never asks. The agent can do whatever its process can.",
  },
];

/** Modes that mean the same as another one; the server accepts them, pickers do not offer them. */
const ALIASES: Partial<Record<Mode, Mode>> = { ask: "default", "allow-all": "bypassPermissions" };

/** Returns the mode that an alias stands for. */
export const resolveMode = (mode: Mode): Mode => ALIASES[mode] ?? mode;

export const modeName = (mode: Mode) => MODES.find((one) => one.mode === resolveMode(mode))?.name ?? mode;

/** Tells whether a mode never asks; such modes are shown with a warning. */
export const isUnasked = (mode: Mode) => resolveMode(mode) === "bypassPermissions";

export const KINDS: Record<Kind, string> = {
  root: "Root",
  fork: "Fork",
  subsession: "Child",
  btw: "Side question",
};

/** The state of a session as the page shows it. */
export type Look =
  | "new"
  | "idle"
  | "running"
  | "waiting"
  | "queued"
  | "paused"
  | "done"
  | "cancelled"
  | "failed";

export interface Stand {
  status: Status;
  activity: Activity;
  queuePaused?: boolean;
  queued?: number;
  asking?: number;
  /** Whether the last turn failed and nobody has looked at it yet. */
  failed?: boolean;
}

export function look(one: Stand): Look {
  if (one.status === "error") return "failed";
  if (one.status === "cancelled") return "cancelled";
  if (one.status === "completed") return "done";
  if (one.activity === "waiting_permission" || one.asking) return "waiting";
  if (one.activity === "running") return "running";
  if (one.queued) return one.queuePaused ? "paused" : "queued";
  if (one.failed) return "failed";
  return one.activity === "not_started" ? "new" : "idle";
}

export const LOOKS: Record<Look, string> = {
  new: "Not started",
  idle: "Ready",
  running: "Working",
  waiting: "Needs your approval",
  queued: "Queued",
  paused: "Paused",
  done: "Completed",
  cancelled: "Cancelled",
  failed: "Failed",
};

export const TASKS: Record<TaskStatus, string> = {
  queued: "Queued",
  dispatching: "Starting",
  running: "Working",
  waiting_permission: "Needs your approval",
  stopping: "Stopping",
  interrupted: "Interrupted",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

export const isOver = (status: TaskStatus) =>
  status === "completed" || status === "failed" || status === "cancelled";

/** Returns a session's title, or else the beginning of its first prompt. */
export function nameOf(one: { title: string; firstPrompt?: string | null; id: string }): string {
  return one.title || one.firstPrompt?.trim().split("\n", 1)[0]?.slice(0, 120) || "Untitled session";
}
