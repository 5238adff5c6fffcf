/** A question that has its answer: one line that says which, and whose it was. */
import { CircleCheck, CircleSlash, CircleX } from "lucide-react";
import type { Approval } from "@/api/types";
import css from "./ApprovalCard.module.css";

/** What this page answered itself. */
export const answeredHere = new Set<string>();

const WHO: Record<string, string> = {
  person: "by a person",
  session: "by an agent",
  system: "by Bough",
  policy: "by policy",
};

export function decidedWords(approval: Pick<Approval, "id" | "status" | "decidedBy">): string {
  if (approval.status === "cancelled") return "Withdrawn";
  const done = { allowed: "allowed", denied: "denied", expired: "expired" }[approval.status as "allowed"];
  if (approval.status === "expired") return "Nobody answered in time";
  if (answeredHere.has(approval.id)) return `You ${done} this`;
  const who = approval.decidedBy ? (WHO[approval.decidedBy.kind] ?? "") : "";
  return `${done?.replace(/^./, (letter) => letter.toUpperCase())} ${who}`.trim();
}

const ICONS = {
  allowed: <CircleCheck aria-hidden />,
  denied: <CircleX aria-hidden />,
  cancelled: <CircleSlash aria-hidden />,
  expired: <CircleSlash aria-hidden />,
  pending: null,
};

export const Decided = ({ approval }: { approval: Approval }) => (
  <p className={`${css.decided} ${css[approval.status] ?? ""}`} data-testid="approval-decided">
    {ICONS[approval.status]}
    <span className={css.decidedWords}>{decidedWords(approval)}</span>
    <span className={css.decidedTitle}>{approval.title}</span>
  </p>
);
