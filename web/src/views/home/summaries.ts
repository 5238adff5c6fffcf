/** Summaries for the home page: what needs the user, what went wrong, the state of a tree. */
import type { components } from "@/api/schema";
import { plural } from "@/lib/format";

export type HomeData = components["schemas"]["Home"];
export type HomeSession = components["schemas"]["HomeSession"];
export type HomeTree = components["schemas"]["HomeTree"];
export type Counts = components["schemas"]["Counts"];

/** Returns one line on what needs the user; empty if nothing does. */
export function describeNeeds({ approvals, failed, review }: Counts): string {
  const parts = [
    approvals && plural(approvals, "approval"),
    failed && plural(failed, "failure"),
    review && `${plural(review, "finished session")} to review`,
  ].filter(Boolean) as string[];
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** Tells whether the server has not been used yet. */
export const isFirstRun = (home: HomeData): boolean =>
  home.totals.all.turns === 0 &&
  home.trees.length === 0 &&
  home.needs.approvals.length + home.running.length + home.queued.length === 0;

/** Returns the sessions that can be marked as read. */
export const unreadSessionIds = (home: HomeData): string[] =>
  [...home.needs.failed, ...home.needs.review].map((item) => item.id);

export function errorMessage(session: HomeSession): string {
  const error = session.lastTask?.error as { message?: string } | null | undefined;
  return error?.message ?? "The session failed.";
}

/** Tells whether the last prompt can be sent again; a failed session takes no prompts. */
export const canRetry = (session: HomeSession): boolean =>
  session.status !== "error" && session.lastTask !== null && session.lastTask.status === "failed";

export function describeTree(tree: HomeTree): string {
  return [
    plural(tree.sessions, "session"),
    tree.asking > 0 && plural(tree.asking, "approval"),
    tree.running > 0 && `${tree.running} working`,
    tree.queued > 0 && `${tree.queued} queued`,
    tree.unread > 0 && `${tree.unread} unread`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Names the repository and branch of a session. */
export const repoAndBranch = (session: Pick<HomeSession, "repoName" | "branch">): string =>
  [session.repoName, session.branch].filter(Boolean).join(" · ");

/** Returns the index of the next item for j and k; stops at the ends. */
export function nextIndex(count: number, current: number, by: 1 | -1): number {
  if (!count) return -1;
  if (current < 0) return by > 0 ? 0 : count - 1;
  return Math.min(count - 1, Math.max(0, current + by));
}
