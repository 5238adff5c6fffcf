/** Shows an approval that was decided: one line with the decision and who made it. */
import { CircleCheck, CircleSlash, CircleX } from "lucide-react";
import type { Approval } from "@/api/types";
import css from "./ApprovalCard.module.css";

/** Ids of the approvals that were decided on this page. */
export const decidedOnThisPage = new Set<string>();

const DECIDERS: Record<string, string> = {
  person: "by a person",
  session: "by an agent",
  system: "by Bough",
  policy: "by policy",
};

export function decisionText({
  id,
  status,
  decidedBy,
}: Pick<Approval, "id" | "status" | "decidedBy">): string {
  if (status === "cancelled") return "Withdrawn";
  if (status === "expired") return "No answer in time";
  if (decidedOnThisPage.has(id)) return `You ${status} this`;
  const decision = status === "allowed" ? "Allowed" : "Denied";
  if (decidedBy?.user) return `${decision} by ${decidedBy.user}`;
  return `${decision} ${decidedBy ? (DECIDERS[decidedBy.kind] ?? "") : ""}`.trim();
}

const ICONS = {
  allowed: <CircleCheck aria-hidden />,
  denied: <CircleX aria-hidden />,
  cancelled: <CircleSlash aria-hidden />,
  expired: <CircleSlash aria-hidden />,
  pending: null,
};

export const DecidedApproval = ({ approval }: { approval: Approval }) => (
  <p className={`${css.decided} ${css[approval.status] ?? ""}`} data-testid="approval-decided">
    {ICONS[approval.status]}
    <span className={css.decidedWords}>{decisionText(approval)}</span>
    <span className={css.decidedTitle}>{approval.title}</span>
  </p>
);
