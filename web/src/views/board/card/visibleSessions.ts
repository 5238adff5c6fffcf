/** Chooses the sessions that a card shows before it folds the rest. */
import type { CardSession } from "@/api/types";
import { displayState } from "@/lib/words";
import { buildTree, busyFirst, type TreeBranch, walk } from "@/views/tree/lineage";

/** How many sessions a card shows before it folds the rest; those at work are shown beyond that. */
export const MAX_VISIBLE_SESSIONS = 8;

const BUSY = ["running", "stalled", "looping", "waiting", "queued", "paused"];

/** Returns the sessions to show with their depths: all that work or wait and their origins, then others as far as there is
 * room. With `whole`, all. */
export function visibleSessions(sessions: readonly CardSession[], whole: boolean): [CardSession, number][] {
  const all = [...walk(busyFirst(buildTree(sessions)))];
  if (whole || all.length <= MAX_VISIBLE_SESSIONS) return all.map(([session, depth]) => [session, depth]);
  const busy = new Map<TreeBranch<CardSession>, boolean>();
  const isBusy = (branch: TreeBranch<CardSession>): boolean => {
    const known = busy.get(branch);
    if (known !== undefined) return known;
    const answer = BUSY.includes(displayState(branch.node)) || branch.children.some(isBusy);
    busy.set(branch, answer);
    return answer;
  };
  let room = MAX_VISIBLE_SESSIONS - all.filter(([, , branch]) => isBusy(branch)).length;
  return all
    .filter(([, , branch]) => isBusy(branch) || room-- > 0)
    .map(([session, depth]) => [session, depth]);
}
