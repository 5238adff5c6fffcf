/** Lists what needs the user: approvals, failures, finished work that is unread. */
import { useQuery } from "@tanstack/react-query";
import { Check, CircleX, RotateCw } from "lucide-react";
import { type ReactNode, useState } from "react";
import { runRequest, seeSession } from "@/api/actions";
import { lastTextQuery, useMay } from "@/api/queries";
import { routes } from "@/app/routes";
import { firstLine } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { Kbd } from "@/ui/controls/Kbd";
import { StateMark } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import { retry } from "@/views/forms/layout/toastMadeRoom";
import css from "./Home.module.css";
import { FocusableItem, HomeItem } from "./HomeItem";
import { ApprovalGroupCard } from "./inbox/ApprovalGroupCard";
import { groupApprovals, takesPlainAnswer } from "./inbox/groupApprovals";
import inbox from "./inbox/Inbox.module.css";
import { SelectionBar } from "./inbox/SelectionBar";
import { canRetry, errorMessage, type HomeData, type HomeSession } from "./summaries";

const NOTHING: ReadonlySet<string> = new Set();

export function NeedsYou({ home }: { home: HomeData }) {
  const { approvals, failed, review } = home.needs;
  const readOnly = !useMay("operator");
  const [chosen, setChosen] = useState(NOTHING);
  const more =
    home.counts.approvals +
    home.counts.failed +
    home.counts.review -
    approvals.length -
    failed.length -
    review.length;
  const groups = groupApprovals(approvals);
  const checkbox = (ids: string[], name: string) =>
    readOnly ? null : (
      <label className={inbox.select}>
        <input
          type="checkbox"
          aria-label={`Select ${name}`}
          checked={ids.every((id) => chosen.has(id))}
          onChange={(event) => {
            const next = new Set(chosen);
            for (const id of ids) event.target.checked ? next.add(id) : next.delete(id);
            setChosen(next);
          }}
        />
      </label>
    );
  const ofSession = (session: HomeSession) => checkbox([session.id], session.title || "Untitled session");
  // What was answered or read meanwhile is no longer selected.
  const selected = {
    approvals: approvals.filter(({ id }) => chosen.has(id)).map(({ id }) => id),
    sessions: [...failed, ...review].filter(({ id }) => chosen.has(id)).map(({ id }) => id),
  };
  return (
    <>
      <SelectionBar selected={selected} clear={() => setChosen(NOTHING)} />
      {approvals.length > 0 && !readOnly && (
        <p className={inbox.keys} aria-hidden>
          <span>
            <Kbd keys="j" /> <Kbd keys="k" /> move
          </span>
          <span>
            <Kbd keys="y" /> allow
          </span>
          <span>
            <Kbd keys="n" /> deny
          </span>
          <span>
            <Kbd keys="a" /> always in this session
          </span>
          <span>
            <Kbd keys="x" /> mark as read
          </span>
        </p>
      )}
      <ul className={css.list}>
        {groups.map(({ key, approvals: members }) =>
          members.length > 1 ? (
            <li key={key}>
              <ApprovalGroupCard
                group={{ key, approvals: members }}
                readOnly={readOnly}
                select={checkbox(
                  members.map(({ id }) => id),
                  `${members.length} × ${members[0]!.title}`,
                )}
              />
            </li>
          ) : (
            <FocusableItem key={members[0]!.id} href={routes.session(members[0]!.sessionId)}>
              <div className={inbox.row}>
                {approvals.length > 1 &&
                  takesPlainAnswer(members[0]!) &&
                  checkbox([members[0]!.id], members[0]!.title)}
                <ApprovalCard approval={members[0]!} showSession readOnly={readOnly} />
              </div>
            </FocusableItem>
          ),
        )}
        {failed.map((session) => (
          <Failed key={session.id} session={session} select={ofSession(session)} />
        ))}
        {review.map((session) => (
          <Review key={session.id} session={session} select={ofSession(session)} />
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

function Failed({ session, select }: { session: HomeSession; select: ReactNode }) {
  const [busy, setBusy] = useState(false);
  const tryAgain = async () => {
    setBusy(true);
    await retry(session.lastTask!.id);
    setBusy(false);
  };
  return (
    <HomeItem
      session={session}
      select={select}
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

function Review({ session, select }: { session: HomeSession; select: ReactNode }) {
  const answer = useQuery(lastTextQuery(session.id, session.activeAt)).data;
  return (
    <HomeItem
      session={session}
      select={select}
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
