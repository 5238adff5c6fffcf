/** What the start page says about itself: how much needs the person, what went wrong, how a tree stands. */
import type { components } from "@/api/schema";
import { plural } from "@/lib/format";

export type HomeData = components["schemas"]["Home"];
export type HomeSession = components["schemas"]["HomeSession"];
export type HomeTree = components["schemas"]["HomeTree"];
export type Counts = components["schemas"]["Counts"];

/** One line on what needs the person; empty if nothing does. */
export function needsInWords({ approvals, failed, review }: Counts): string {
  const parts = [
    approvals && plural(approvals, "question"),
    failed && plural(failed, "failure"),
    review && `${plural(review, "finished session")} to look at`,
  ].filter(Boolean) as string[];
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** Nobody has done anything here yet. */
export const isFirstRun = (home: HomeData): boolean =>
  home.totals.all.turns === 0 &&
  home.trees.length === 0 &&
  home.needs.approvals.length + home.running.length + home.queued.length === 0;

/** What can be put away by having been seen. */
export const unseen = (home: HomeData): string[] =>
  [...home.needs.failed, ...home.needs.review].map((one) => one.id);

export function errorInWords(session: HomeSession): string {
  const error = session.lastTask?.error as { message?: string } | null | undefined;
  return error?.message ?? "It ended in an error.";
}

/** A session that is final in its error cannot be prompted again. */
export const canRetry = (session: HomeSession): boolean =>
  session.status !== "error" && session.lastTask !== null && session.lastTask.status === "failed";

export function treeInWords(tree: HomeTree): string {
  return [
    plural(tree.sessions, "session"),
    tree.asking > 0 && plural(tree.asking, "question"),
    tree.running > 0 && `${tree.running} working`,
    tree.queued > 0 && `${tree.queued} queued`,
    tree.unread > 0 && `${tree.unread} new`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Where a session works, in a few words. */
export const placeInWords = (session: Pick<HomeSession, "repoName" | "branch">): string =>
  [session.repoName, session.branch].filter(Boolean).join(" · ");

/** The next of some items that j and k walk through; it stays at the ends. */
export function step(count: number, current: number, by: 1 | -1): number {
  if (!count) return -1;
  if (current < 0) return by > 0 ? 0 : count - 1;
  return Math.min(count - 1, Math.max(0, current + by));
}
