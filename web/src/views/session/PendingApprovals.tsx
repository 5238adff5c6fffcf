/** Shows a session's pending approvals at the end of its transcript. A decided one stays for a moment, so that nothing moves
 * under the pointer of a person who was about to answer it too. */
import { useCallback, useEffect, useRef, useState } from "react";
import { useMay } from "@/api/queries";
import type { Approval, Session } from "@/api/types";
import type { LiveEvent } from "@/live/eventStream";
import { useEvents } from "@/live/hooks";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import { approvalLabels } from "@/views/approvals/approvalDetails";
import css from "./Session.module.css";

const DECIDED_STAYS = 5000;

export function PendingApprovals({ session, approvals }: { session: Session; approvals: Approval[] }) {
  const sessionId = session.id;
  const readOnly = !useMay("operator");
  const [decided, setDecided] = useState<Approval[]>([]);
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
        const withoutIt = (list: Approval[]) => list.filter(({ id }) => id !== approval.id);
        setDecided((list) => [...withoutIt(list), approval]);
        const timer = setTimeout(() => {
          timers.current.delete(timer);
          setDecided(withoutIt);
        }, DECIDED_STAYS);
        timers.current.add(timer);
      },
      [sessionId],
    ),
  );
  const decidedIds = new Set(decided.map(({ id }) => id));
  const shown = [...decided, ...approvals.filter(({ id }) => !decidedIds.has(id))].sort((a, b) =>
    a.createdAt.localeCompare(b.createdAt),
  );
  const newest = approvals.at(-1);
  return (
    <>
      {/* Always rendered: screen readers do not announce a live region that appears together with its text. */}
      <p className="visually-hidden" role="status">
        {newest ? `${approvalLabels(newest).title}: ${newest.title}` : ""}
      </p>
      {shown.length > 0 && (
        <section className={css.approvals} aria-label="Pending approvals">
          <h2 className="visually-hidden">Pending approvals</h2>
          {shown.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} cwd={session.cwd} readOnly={readOnly} />
          ))}
        </section>
      )}
    </>
  );
}
