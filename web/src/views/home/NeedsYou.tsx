/** What needs the person: questions, failures, finished work that nobody has looked at. */
import { useQuery } from "@tanstack/react-query";
import { Check, CircleX, RotateCw } from "lucide-react";
import { useState } from "react";
import { act, promptSession, seeSession } from "@/api/actions";
import { api, got } from "@/api/client";
import { lastWordsQuery } from "@/api/queries";
import { routes } from "@/app/routes";
import { firstLine } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/controls/Button";
import { StateMark } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import css from "./Home.module.css";
import { Item, Walkable } from "./HomeItem";
import { canRetry, errorInWords, type HomeData, type HomeSession } from "./summaries";

export function Needs({ home }: { home: HomeData }) {
  const { approvals, failed, review } = home.needs;
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
          <Walkable key={approval.id} href={routes.session(approval.sessionId)}>
            <ApprovalCard approval={approval} showSession />
          </Walkable>
        ))}
        {failed.map((session) => (
          <Failed key={session.id} session={session} />
        ))}
        {review.map((session) => (
          <Review key={session.id} session={session} />
        ))}
      </ul>
      {more > 0 && <p className={css.more}>And {more} more, when these are done.</p>}
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
        if (!(await act(() => seeSession(sessionId)))) setBusy(false);
      }}
    >
      {label}
    </Button>
  );
}

function Failed({ session }: { session: HomeSession }) {
  const [busy, setBusy] = useState(false);
  const retry = async () => {
    setBusy(true);
    await act(async () => {
      // The list has only how the prompt begins.
      const task = await got(
        api.GET("/api/tasks/{taskId}", { params: { path: { taskId: session.lastTask!.id } } }),
      );
      await promptSession(session.id, { text: task.prompt });
    });
    setBusy(false);
  };
  return (
    <Item
      session={session}
      sees
      tone="failed"
      mark={<CircleX aria-label="Failed" className={css.failedMark} />}
      meta={<Time at={session.activeAt} />}
      actions={
        <>
          {canRetry(session) && (
            <Button size="small" icon={<RotateCw />} busy={busy} onClick={() => void retry()}>
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
      <p className={css.error}>{errorInWords(session)}</p>
    </Item>
  );
}

function Review({ session }: { session: HomeSession }) {
  const said = useQuery(lastWordsQuery(session.id, session.activeAt)).data;
  return (
    <Item
      session={session}
      sees
      tone="done"
      mark={<StateMark state={{ status: "completed", activity: "idle" }} />}
      meta={<Time at={session.lastTask?.endedAt ?? session.activeAt} />}
      actions={
        <>
          <ButtonLink size="small" href={routes.session(session.id)}>
            Open
          </ButtonLink>
          <SeenButton sessionId={session.id} label="Mark as seen" />
        </>
      }
    >
      <p className={css.words}>
        {said ? firstLine(said, 280) : session.lastTask && firstLine(session.lastTask.prompt)}
      </p>
    </Item>
  );
}
