/** Shows a session's transcript, or its loading, failed or empty state. */
import { MessageSquareDashed } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { Session, Task } from "@/api/types";
import { useOutline } from "@/live/hooks";
import type { Transcript } from "@/live/transcript/transcript";
import { Empty, Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { MessageList } from "./MessageList";
import { FoldStore, TranscriptContext, type TranscriptContextValue } from "./TranscriptContext";
import css from "./TranscriptView.module.css";

export interface TranscriptProps {
  session: Session;
  tasks: Task[];
  transcript: Transcript;
  /** A message to open at and highlight. */
  focusMessage?: string | null;
  onFork: (taskId: string) => void;
  /** Shown after the last message, inside the scroll area. */
  footer?: ReactNode;
}

export function TranscriptView({
  session,
  tasks,
  transcript,
  focusMessage,
  onFork,
  footer,
}: TranscriptProps) {
  const outline = useOutline(transcript);
  const [folds] = useState(() => new FoldStore());
  const isFork = Boolean(session.forkedFromSessionId);
  useEffect(() => {
    if (isFork) transcript.includeInherited();
  }, [transcript, isFork]);
  const tasksById = useMemo(() => new Map(tasks.map((task) => [task.id, task])), [tasks]);
  const context = useMemo<TranscriptContextValue>(
    () => ({ session, transcript, tasks: tasksById, folds, onFork }),
    [session, transcript, tasksById, folds, onFork],
  );
  if (outline.status === "loading")
    return (
      <div className={css.other}>
        <Skeleton lines={8} />
      </div>
    );
  if (outline.status === "failed")
    return (
      <div className={css.other}>
        <Problem error={outline.error} retry={() => void transcript.load()} />
      </div>
    );
  if (!outline.ids.length && !outline.hasOlder)
    return (
      <div className={css.other}>
        <Empty icon={<MessageSquareDashed />} title="No messages yet">
          Send a prompt below to start.
        </Empty>
        <div className={css.column}>{footer}</div>
      </div>
    );
  return (
    <TranscriptContext value={context}>
      <MessageList outline={outline} focusMessage={focusMessage ?? null} footer={footer} />
    </TranscriptContext>
  );
}
