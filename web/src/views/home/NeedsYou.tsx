/** Lists what needs the user: approvals, failures, finished work that is unread. */
import { useQuery } from "@tanstack/react-query";
import { Check, CircleX, RotateCw } from "lucide-react";
import { useState } from "react";
import { runRequest, seeSession } from "@/api/actions";
import { lastTextQuery, useMay } from "@/api/queries";
import { routes } from "@/app/routes";
import { firstLine } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { StateMark } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import { retry } from "@/views/forms/layout/toastMadeRoom";
import css from "./Home.module.css";
import { FocusableItem, HomeItem } from "./HomeItem";
import { canRetry, errorMessage, type HomeData, type HomeSession } from "./summaries";

export function NeedsYou({ home }: { home: HomeData }) {
  const { approvals, failed, review } = home.needs;
  const readOnly = !useMay("operator");
  const more =
    home.counts.approvals +
    home.counts.failed +
    home.counts.review -
    approvals.length -
    failed.length -
    review.length;
  return (
    <>
      <ul className={css.list}>
        {approvals.map((approval) => (
          <FocusableItem key={approval.id} href={routes.session(approval.sessionId)}>
            <ApprovalCard approval={approval} showSession readOnly={readOnly} />
          </FocusableItem>
        ))}
        {failed.map((session) => (
          <Failed key={session.id} session={session} />
        ))}
        {review.map((session) => (
          <Review key={session.id} session={session} />
        ))}
      </ul>
      {more > 0 && <p className={css.more}>And {more} more.</p>}
    </>
  );
}

function SeenButton({ sessionId, label }: { sessionId: string; label: string }) {
  const [busy, setBusy] = useState(false);
  return (
    <Button
      size="small"
      icon={<Check />}
      busy={busy}
      onClick={async () => {
        setBusy(true);
        if (!(await runRequest(() => seeSession(sessionId)))) setBusy(false);
      }}
    >
      {label}
    </Button>
  );
}

function Failed({ session }: { session: HomeSession }) {
  const [busy, setBusy] = useState(false);
  const tryAgain = async () => {
    setBusy(true);
    await retry(session.lastTask!.id);
    setBusy(false);
  };
  return (
    <HomeItem
      session={session}
      canDismiss
      tone="failed"
      mark={<CircleX aria-label="Failed" className={css.failedMark} />}
      meta={<Time at={session.activeAt} />}
      actions={
        <>
          {canRetry(session) && (
            <Button size="small" icon={<RotateCw />} busy={busy} onClick={() => void tryAgain()}>
              Try again
            </Button>
          )}
          <ButtonLink size="small" href={routes.session(session.id)}>
            Open
          </ButtonLink>
          <SeenButton sessionId={session.id} label="Dismiss" />
        </>
      }
    >
      <p className={css.error}>{errorMessage(session)}</p>
    </HomeItem>
  );
}

function Review({ session }: { session: HomeSession }) {
  const answer = useQuery(lastTextQuery(session.id, session.activeAt)).data;
  return (
    <HomeItem
      session={session}
      canDismiss
      tone="done"
      mark={<StateMark state={{ status: "completed", activity: "idle" }} />}
      meta={<Time at={session.lastTask?.endedAt ?? session.activeAt} />}
      actions={
        <>
          <ButtonLink size="small" href={routes.session(session.id)}>
            Open
          </ButtonLink>
          <SeenButton sessionId={session.id} label="Mark as read" />
        </>
      }
    >
      <p className={css.words}>
        {answer ? firstLine(answer, 280) : session.lastTask && firstLine(session.lastTask.prompt)}
      </p>
    </HomeItem>
  );
}
