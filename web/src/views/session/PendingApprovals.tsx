/** What a session asks, at the end of its transcript. An answered question stays a moment, so that nothing jumps away
 * under the hand of somebody who was about to answer it too. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Approval, Session } from "@/api/types";
import type { LiveEvent } from "@/live/eventStream";
import { useEvents } from "@/live/hooks";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import { wordsOf } from "@/views/approvals/approvalDetails";
import css from "./Session.module.css";

const STAYS = 5000;

export function Questions({ session, approvals }: { session: Session; approvals: Approval[] }) {
  const sessionId = session.id;
  const [answered, setAnswered] = useState<Approval[]>([]);
  const timers = useRef(new Set<ReturnType<typeof setTimeout>>());
  useEffect(() => {
    const running = timers.current;
    return () => running.forEach(clearTimeout);
  }, []);
  useEvents(
    useCallback(
      (event: LiveEvent) => {
        if (event.type !== "approval.patched" || event.sessionId !== sessionId) return;
        const approval = event.data as Approval;
        if (approval.status === "pending") return;
        setAnswered((known) => [...known.filter((one) => one.id !== approval.id), approval]);
        const timer = setTimeout(() => {
          timers.current.delete(timer);
          setAnswered((known) => known.filter((one) => one.id !== approval.id));
        }, STAYS);
        timers.current.add(timer);
      },
      [sessionId],
    ),
  );
  const over = new Set(answered.map((one) => one.id));
  const shown = [...answered, ...approvals.filter((one) => !over.has(one.id))].sort((a, b) =>
    a.createdAt.localeCompare(b.createdAt),
  );
  const newest = approvals.at(-1);
  return (
    <>
      {/* Always there: a region that comes with its text is not read out. */}
      <p className="visually-hidden" role="status">
        {newest ? `${wordsOf(newest).about}: ${newest.title}` : ""}
      </p>
      {shown.length > 0 && (
        <section className={css.questions} aria-label="Questions to you">
          <h2 className="visually-hidden">Questions to you</h2>
          {shown.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} cwd={session.cwd} />
          ))}
        </section>
      )}
    </>
  );
}
