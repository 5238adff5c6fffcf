/** Shows the tour: its tree, the current session and its approvals. */
import { useApprovals, useSession, useTasks } from "@/api/queries";
import type { Session, Task } from "@/api/types";
import { useTranscript } from "@/live/hooks";
import { Skeleton } from "@/ui/feedback/Placeholders";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import { TranscriptView } from "@/views/session/transcript/TranscriptView";
import { useMarkSeen } from "@/views/session/useMarkSeen";
import { TreeList } from "@/views/tree/TreeList";
import css from "./Welcome.module.css";

const NO_TASKS: Task[] = [];

export function TourStage({ sessionId, rootId }: { sessionId: string; rootId: string }) {
  return (
    <div className={css.stage}>
      <div className={css.tree}>
        <TreeList sessionId={rootId} current={sessionId} />
      </div>
      <CurrentSession key={sessionId} sessionId={sessionId} />
    </div>
  );
}

function CurrentSession({ sessionId }: { sessionId: string }) {
  const { data: session } = useSession(sessionId);
  return session ? <ShownSession session={session} /> : <Skeleton />;
}

function ShownSession({ session }: { session: Session }) {
  const { data: tasks = NO_TASKS } = useTasks(session.id);
  const { data: approvals = [] } = useApprovals();
  const transcript = useTranscript(session.id);
  useMarkSeen(session, tasks);
  const pending = approvals.filter((approval) => approval.sessionId === session.id);
  return (
    <div className={css.transcript}>
      <TranscriptView
        session={session}
        tasks={tasks}
        transcript={transcript}
        onFork={() => undefined}
        footer={pending.map((approval) => (
          <ApprovalCard key={approval.id} approval={approval} cwd={session.cwd} />
        ))}
      />
    </div>
  );
}
