/** The words that people are shown for modes, states and kinds: one place, so that every view says the same. */
import type { Activity, Kind, Mode, Status, TaskStatus } from "@/api/types";

export const MODES: { mode: Mode; name: string; words: string }[] = [
  { mode: "plan", name: "Plan", words: "Reads and plans. Changes nothing." },
  { mode: "default", name: "Ask first", words: "Reads freely. Asks before every edit and every command." },
  {
    mode: "ask",
    name: "Ask",
    words: "The same as “ask first”: every edit and every command is asked about.",
  },
  {
    mode: "acceptEdits",
    name: "Accept edits",
    words: "Edits files of its folder freely. Asks before commands and the network.",
  },
  {
    mode: "auto",
    name: "Auto",
    words: "Edits and runs commands inside its folder. Asks for what reaches beyond.",
  },
  {
    mode: "on-failure",
    name: "On failure",
    words: "Like auto. Asks when something failed for want of rights.",
  },
  {
    mode: "bypassPermissions",
    name: "Bypass permissions",
    words: "Asks nothing. It can do whatever its process can.",
  },
  { mode: "allow-all", name: "Allow all", words: "The same as “bypass permissions”: nothing is asked." },
];

export const modeName = (mode: Mode) => MODES.find((one) => one.mode === mode)?.name ?? mode;

/** Modes in which nobody is asked; shown with a warning. */
export const isUnasked = (mode: Mode) => mode === "bypassPermissions" || mode === "allow-all";

export const KINDS: Record<Kind, string> = { root: "Root", fork: "Fork", subsession: "Child", btw: "Aside" };

/** How a session stands, as one word and one look. */
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
  /** Whether the last turn failed, and nobody has looked yet. */
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
  waiting: "Waits for you",
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
  waiting_permission: "Waits for you",
  stopping: "Stopping",
  interrupted: "Interrupted",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
};

export const isOver = (status: TaskStatus) =>
  status === "completed" || status === "failed" || status === "cancelled";

/** What a session is called: its title, else the beginning of its first prompt. */
export function nameOf(one: { title: string; firstPrompt?: string | null; id: string }): string {
  return one.title || one.firstPrompt?.trim().split("\n", 1)[0]?.slice(0, 120) || "Untitled session";
}
