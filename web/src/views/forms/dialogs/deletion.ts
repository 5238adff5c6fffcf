/** What a deletion may do, what it needs before it is sent, and what it came to, in words. */
import type { components } from "@/api/schema";
import type { Node, Session, Worktree } from "@/api/types";
import { plural } from "@/lib/format";

export type Losses = components["schemas"]["Losses"];
export type Ended = components["schemas"]["SessionEnded"];

export interface Deletion {
  /** For good, transcript and all; else it is only cancelled. */
  purge: boolean;
  cascade: boolean;
  worktree: boolean;
  /** Somebody has ticked “Delete anyway”. */
  force: boolean;
}

/** Everything that was forked or spawned from a session, however deep. Questions aside go with their session. */
export function below(sessionId: string, nodes: readonly Node[]): Node[] {
  const found = new Set([sessionId]);
  const under: Node[] = [];
  // Parents stand before their children.
  for (const node of nodes) {
    const from = [node.parentSessionId, node.forkedFromSessionId];
    if (node.id !== sessionId && from.some((id) => id && found.has(id))) {
      found.add(node.id);
      under.push(node);
    }
  }
  return under;
}

export const hasLosses = (losses: Losses | undefined): boolean =>
  losses !== undefined && losses.counts.uncommitted + losses.counts.untracked + losses.counts.unpushed > 0;

/** Why the worktree cannot go along, if it cannot. */
export function worktreeStays(
  session: Session,
  worktree: Worktree | undefined,
  deletion: Deletion,
  losses: Losses | undefined,
): string | null {
  if (!session.worktreeId) return null;
  if (deletion.cascade)
    return "Worktrees stay when several sessions are deleted at once. Remove them afterwards.";
  if (worktree && !worktree.madeByBough) return "Bough did not make this worktree, so it stays.";
  if (losses && losses.counts.sessions > 0)
    return `${plural(losses.counts.sessions, "other active session works", "other active sessions work")} there, so it stays.`;
  return null;
}

/** Why the button is not ready yet. */
export function missing(deletion: Deletion, losses: Losses | undefined, children: number): string | null {
  if (deletion.purge && children > 0 && !deletion.cascade)
    return "Sessions were forked or spawned from it. They have to go first, or with it.";
  if (deletion.worktree && !losses) return "Looking for work that would be lost…";
  if (deletion.worktree && hasLosses(losses) && !deletion.force) return "There is work that is nowhere else.";
  return null;
}

export const query = (deletion: Deletion) => ({
  purge: deletion.purge || undefined,
  cascade: deletion.cascade || undefined,
  ...(deletion.worktree && !deletion.cascade
    ? { worktree: "remove" as const, force: deletion.force || undefined }
    : {}),
});

export interface Outcome {
  text: string;
  /** How to get the worktree back, and what was refused: worth a second look. */
  notes: string[];
}

export function outcome(ended: Ended, deletion: Deletion): Outcome {
  const done = deletion.purge ? "deleted" : "cancelled";
  const notes: string[] = [];
  if (ended.worktree?.forgotten) notes.push("The worktree is forgotten; its folder is left as it is.");
  if (ended.worktree?.recover) notes.push(`To bring the worktree back: ${ended.worktree.recover}`);
  const refused = (ended.cascade ?? []).filter((one) => one.outcome === "refused");
  for (const one of refused) notes.push(one.message ?? `Session ${one.sessionId} was refused.`);
  const count = (ended.cascade ?? []).filter(
    (one) => one.outcome === "removed" || one.outcome === "cancelled",
  );
  const text = ended.cascade
    ? `${plural(count.length, "session")} ${done}.`
    : `The session is ${done}${ended.worktree && !ended.worktree.forgotten ? ", its worktree removed" : ""}.`;
  return { text, notes };
}
