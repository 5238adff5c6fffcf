/** Joins equal approvals, such as the same command asked for by six sessions, so that one answer serves them all. */
import type { Approval } from "@/api/types";
import { answersOf } from "@/views/approvals/approvalDetails";
import { isQuestion } from "@/views/approvals/questionForm";

export interface ApprovalGroup<Item extends Approval> {
  key: string;
  approvals: Item[];
}

/** Whether "allow" and "deny" are all that there is to answer: no form, and not several ways to allow. */
export const takesPlainAnswer = (approval: Approval): boolean =>
  !isQuestion(approval) && answersOf(approval).alternatives.length === 0;

/** An approval with the repo in which its session works. */
export type PlacedApproval = Approval & { repoId: string };

/** Returns everything that an approval asks for, without the ids that tell calls apart; null if it must be answered alone.
 * Fields that are unknown here count as well: what is not compared would be allowed unseen. The same command in another
 * repo may run other files. */
function subjectOf(approval: PlacedApproval): string | null {
  if (!takesPlainAnswer(approval) || approval.key === null) return null;
  const { toolCallId, callId, ...call } = approval.toolCall;
  const options = approval.options.map(({ kind, name }) => [kind, name]);
  const { repoId, toolKind, key, title, reason, onExpiry } = approval;
  return JSON.stringify([repoId, toolKind, key, title, reason, onExpiry, options, call]);
}

/** Groups equal approvals; a group stands where its oldest member stood. */
export function groupApprovals<Item extends PlacedApproval>(
  approvals: readonly Item[],
): ApprovalGroup<Item>[] {
  const groups = Map.groupBy(approvals, (approval) => subjectOf(approval) ?? approval.id);
  return [...groups].map(([key, members]) => ({ key, approvals: members }));
}

/** Returns when the first of equal approvals is decided automatically, or null if none is. */
export const firstExpiry = (approvals: readonly Approval[]): string | null =>
  approvals.flatMap(({ expiresAt }) => expiresAt ?? []).sort()[0] ?? null;
