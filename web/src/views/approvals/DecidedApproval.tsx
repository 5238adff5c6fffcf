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
  agent: "by the agent",
};

export function decisionText({
  id,
  status,
  decidedBy,
  toolKind,
}: Pick<Approval, "id" | "status" | "decidedBy"> & { toolKind?: string }): string {
  if (status === "cancelled") return "Withdrawn";
  if (status === "expired") return "No answer in time";
  const isAnswer = toolKind === "question";
  if (decidedOnThisPage.has(id))
    return isAnswer ? `You ${status === "allowed" ? "answered" : "declined"} this` : `You ${status} this`;
  const [yes, no] = isAnswer ? ["Answered", "Declined"] : ["Allowed", "Denied"];
  const decision = status === "allowed" ? yes : no;
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
