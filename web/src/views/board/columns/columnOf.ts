/** Sorts cards into columns by what happens next with their work. */
import type { Card, WorktreeProgress } from "@/api/types";
import { displayState } from "@/lib/words";

export type Column = "needsYou" | "working" | "review" | "toDo" | "merged";

/** The columns in their order: what waits for a person first. */
export const COLUMNS: { column: Column; name: string; empty: string }[] = [
  { column: "needsYou", name: "Needs you", empty: "Nothing needs you." },
  { column: "working", name: "Working", empty: "No session works." },
  { column: "review", name: "Review", empty: "Nothing to review." },
  { column: "toDo", name: "To do", empty: "Nothing to start." },
  { column: "merged", name: "Merged", empty: "Nothing merged." },
];

/** Returns the column of a card; `progress` is what git says about its worktree, if that is known. */
export function columnOf(card: Card, progress: WorktreeProgress | undefined): Column {
  const states = card.sessions.filter((session) => !session.archived).map(displayState);
  const any = (...wanted: string[]) => states.some((state) => wanted.includes(state));
  if (any("waiting", "paused", "stalled", "looping", "failed") || card.worktree?.setupError)
    return "needsYou";
  if (any("running", "queued")) return "working";
  if (progress?.merged) return "merged";
  if ((progress?.changedFiles ?? 0) > 0 || card.sessions.some((session) => session.unread)) return "review";
  return "toDo";
}
