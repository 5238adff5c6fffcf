/** Sums up the checks and review threads of a worktree's pull request, for cards and the finish bar. */
import type { PullRequestChecks } from "@/api/types";
import { plural } from "@/lib/format";
import { Badge, type Tone } from "@/ui/labels/Badge";

/** Says in a few words how a pull request is: what failed first. */
export function checksWords({ state, counts }: Pick<PullRequestChecks, "state" | "counts">): string {
  if (state !== "open") return state;
  const parts = [
    counts.failed && `${counts.failed} failed`,
    counts.pending && `${counts.pending} pending`,
    !counts.failed && !counts.pending && counts.passed && `${counts.passed} passed`,
    counts.threads && plural(counts.threads, "open thread"),
  ].filter(Boolean);
  return parts.join(", ") || "open";
}

export function checksTone({ state, counts }: Pick<PullRequestChecks, "state" | "counts">): Tone {
  if (state === "merged") return "done";
  if (state === "closed") return "plain";
  if (counts.failed) return "failed";
  if (counts.threads) return "waiting";
  if (counts.pending) return "running";
  return counts.passed ? "done" : "plain";
}

export const ChecksBadge = ({ request }: { request: PullRequestChecks }) => (
  <Badge tone={checksTone(request)} title={request.error ?? undefined}>
    PR {request.number}: {checksWords(request)}
  </Badge>
);
