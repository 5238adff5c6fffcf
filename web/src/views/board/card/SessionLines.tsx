/** The sessions of a card as links, each indented below its origin; those that wait or run come first. */
import { memo, useMemo } from "react";
import { Link } from "wouter";
import type { CardSession } from "@/api/types";
import { routes } from "@/app/routes";
import { money } from "@/lib/format";
import { sessionName } from "@/lib/words";
import { AgentMark } from "@/ui/labels/AgentMark";
import { StateMark } from "@/ui/labels/Badge";
import { KindMark, SessionMarks } from "@/views/tree/SessionMarks";
import css from "./SessionLines.module.css";
import { visibleSessions } from "./visibleSessions";

const DEEPEST = 5;

export const SessionLines = memo(function SessionLines({
  sessions,
  whole,
}: {
  sessions: CardSession[];
  whole: boolean;
}) {
  const lines = useMemo(() => visibleSessions(sessions, whole), [sessions, whole]);
  return (
    <ul className={css.lines}>
      {lines.map(([session, depth]) => (
        <li key={session.id}>
          <Line session={session} depth={depth} />
        </li>
      ))}
    </ul>
  );
});

const Line = memo(function Line({ session, depth }: { session: CardSession; depth: number }) {
  return (
    <Link
      href={routes.session(session.id)}
      className={`${css.line} nodrag nopan`}
      style={{ paddingLeft: 10 + Math.min(depth, DEEPEST) * 16 }}
      draggable={false}
    >
      <StateMark state={session} />
      <AgentMark agent={session.agent} />
      <KindMark kind={session.kind} />
      <span className={css.title} title={sessionName(session)}>
        {sessionName(session)}
      </span>
      <SessionMarks of={session} worktree={false} />
      {session.cost >= 0.005 && <span className={css.cost}>{money(session.cost)}</span>}
    </Link>
  );
});
