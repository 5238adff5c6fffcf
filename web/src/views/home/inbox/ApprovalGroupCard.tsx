/** Equal approvals of several sessions in one row, with one answer for all; unfolded, each has its own card. Folded, it
 * shows what a card shows: nobody should allow what they cannot see. */
import { Check, ChevronRight, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { Link } from "wouter";
import { routes } from "@/app/routes";
import { Button } from "@/ui/controls/Button";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import { ApprovalSubject } from "@/views/approvals/ApprovalSubject";
import { approvalLabels, reasonText } from "@/views/approvals/approvalDetails";
import { Countdown } from "@/views/approvals/Countdown";
import type { HomeData } from "../summaries";
import { answerAll, type PlainDecision } from "./answerAll";
import { type ApprovalGroup, firstExpiry } from "./groupApprovals";
import css from "./Inbox.module.css";

type HomeApproval = HomeData["needs"]["approvals"][number];

interface Props {
  group: ApprovalGroup<HomeApproval>;
  readOnly: boolean;
  select: ReactNode;
}

const MOST_NAMED = 3;

export function ApprovalGroupCard({ group: { approvals }, readOnly, select }: Props) {
  const listId = useId();
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState<PlainDecision | null>(null);
  const count = approvals.length;
  const first = approvals[0]!;
  const expiry = firstExpiry(approvals);
  const answer = async (decision: PlainDecision) => {
    if (busy) return;
    setBusy(decision);
    await answerAll(
      approvals.map(({ id }) => id),
      decision,
    );
    setBusy(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.repeat || readOnly) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const decision = ({ y: "allow", n: "deny" } as const)[event.key.toLowerCase()];
    if (event.key === "Enter") setOpen(!open);
    else if (decision) void answer(decision);
    else return;
    event.preventDefault();
  };
  const sessions = [...new Map(approvals.map((approval) => [approval.sessionId, approval])).values()];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for inputs; this groups questions and their answers
    <div
      role="group"
      aria-label={`${count} equal approvals: ${first.title}`}
      className={css.group}
      data-item
      // biome-ignore lint/a11y/noNoninteractiveTabindex: with focus on the row, single keys answer it
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div className={css.groupHead}>
        {select}
        <span className={css.times}>{count} ×</span>
        <h3 className={css.about}>{approvalLabels(first).title}</h3>
        {!readOnly && (
          <span className={css.answers}>
            <Button
              variant="primary"
              size="small"
              icon={<Check />}
              busy={busy === "allow"}
              disabled={busy !== null}
              aria-keyshortcuts="y"
              onClick={() => void answer("allow")}
            >
              Allow all
            </Button>
            <Button
              variant="danger"
              size="small"
              icon={<X />}
              busy={busy === "deny"}
              disabled={busy !== null}
              aria-keyshortcuts="n"
              onClick={() => void answer("deny")}
            >
              Deny all
            </Button>
          </span>
        )}
      </div>
      <div className={css.subject}>
        <ApprovalSubject approval={first} />
        {first.reason && <p className={css.reason}>{reasonText(first.reason)}</p>}
        {expiry && <Countdown until={expiry} then={first.onExpiry} />}
      </div>
      <div className={css.from}>
        <span>
          {sessions.slice(0, MOST_NAMED).map((approval, at) => (
            <span key={approval.sessionId}>
              {at > 0 && ", "}
              <Link href={routes.session(approval.sessionId)}>
                {approval.sessionTitle || "Untitled session"}
              </Link>
            </span>
          ))}
          {sessions.length > MOST_NAMED && ` and ${sessions.length - MOST_NAMED} more`}
        </span>
        <button
          type="button"
          className={css.unfold}
          aria-expanded={open}
          aria-controls={open ? listId : undefined}
          onClick={() => setOpen(!open)}
        >
          <ChevronRight aria-hidden className={open ? css.opened : undefined} />
          {open ? "Fold" : "One by one"}
        </button>
      </div>
      {open && (
        <ul id={listId} className={css.members}>
          {approvals.map((approval) => (
            <li key={approval.id}>
              <ApprovalCard approval={approval} showSession readOnly={readOnly} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
