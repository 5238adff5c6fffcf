/** Decides what a deletion may include, what blocks it, and how to describe its result. */
import type { components } from "@/api/schema";
import type { Node, Session, Worktree } from "@/api/types";
import { plural } from "@/lib/format";

export type Losses = components["schemas"]["Losses"];
export type SessionEnded = components["schemas"]["SessionEnded"];

export interface Deletion {
  /** Deletes the transcript too; otherwise the session is only cancelled. */
  purge: boolean;
  cascade: boolean;
  worktree: boolean;
  /** The user chose “Delete anyway”. */
  force: boolean;
}

/** Returns all descendants of a session: forks, children, side questions. */
export function descendantsOf(sessionId: string, nodes: readonly Node[]): Node[] {
  const ids = new Set([sessionId]);
  const under: Node[] = [];
  // Parents come before their children.
  for (const node of nodes) {
    const from = [node.parentSessionId, node.forkedFromSessionId];
    if (node.id !== sessionId && from.some((id) => id && ids.has(id))) {
      ids.add(node.id);
      under.push(node);
    }
  }
  return under;
}

export const hasLosses = (losses: Losses | undefined): boolean =>
  losses !== undefined && losses.counts.uncommitted + losses.counts.untracked + losses.counts.unpushed > 0;

/** Returns why the worktree cannot be deleted with the session, or null. */
export function worktreeStays(
  session: Session,
  worktree: Worktree | undefined,
  deletion: Deletion,
  losses: Losses | undefined,
): string | null {
  if (!session.worktreeId) return null;
  if (deletion.cascade)
    return "Worktrees are kept when several sessions are deleted. Remove them afterwards.";
  if (worktree && !worktree.madeByBough) return "Bough did not create this worktree, so it is kept.";
  if (losses && losses.counts.sessions > 0)
    return `${plural(losses.counts.sessions, "other active session uses", "other active sessions use")} it, so it is kept.`;
  return null;
}

/** Returns what blocks the deletion, or null. */
export function unmetRequirement(
  deletion: Deletion,
  losses: Losses | undefined,
  children: number,
): string | null {
  if (deletion.purge && children > 0 && !deletion.cascade)
    return "Other sessions were forked or spawned from it. Include them, or delete them first.";
  if (deletion.worktree && !losses) return "Checking for unsaved work…";
  if (deletion.worktree && hasLosses(losses) && !deletion.force)
    return "Some work exists only in this worktree.";
  return null;
}

export const deletionQuery = (deletion: Deletion) => ({
  purge: deletion.purge || undefined,
  cascade: deletion.cascade || undefined,
  ...(deletion.worktree && !deletion.cascade
    ? { worktree: "remove" as const, force: deletion.force || undefined }
    : {}),
});

export interface DeletionOutcome {
  text: string;
  /** How to recover the worktree, and what was refused. */
  notes: string[];
}

export function describeOutcome(ended: SessionEnded, deletion: Deletion): DeletionOutcome {
  const done = deletion.purge ? "deleted" : "ended";
  const notes: string[] = [];
  if (ended.worktree?.forgotten) notes.push("Bough no longer tracks the worktree; its folder is unchanged.");
  if (ended.worktree?.recover) notes.push(`To recover the worktree: ${ended.worktree.recover}`);
  const refused = (ended.cascade ?? []).filter((item) => item.outcome === "refused");
  for (const item of refused) notes.push(item.message ?? `Session ${item.sessionId} could not be deleted.`);
  const count = (ended.cascade ?? []).filter(
    (item) => item.outcome === "removed" || item.outcome === "cancelled",
  );
  const text = ended.cascade
    ? `${plural(count.length, "session")} ${done}.`
    : `Session ${done}${ended.worktree && !ended.worktree.forgotten ? " and worktree removed" : ""}.`;
  return { text, notes };
}
