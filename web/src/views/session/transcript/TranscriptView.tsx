/** A session's transcript as a list one can scroll: what it shows, and what follows its last message. */
import { MessageSquareDashed } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { Session, Task } from "@/api/types";
import { useShape } from "@/live/hooks";
import type { Transcript } from "@/live/transcript/transcript";
import { Empty, Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { List } from "./MessageList";
import { type Around, AroundContext, Folds } from "./TranscriptContext";
import css from "./TranscriptView.module.css";

export interface TranscriptProps {
  session: Session;
  tasks: Task[];
  transcript: Transcript;
  /** A message to open at, marked. */
  focusMessage?: string | null;
  onFork: (taskId: string) => void;
  /** What stands behind the last message, inside the scroll area. */
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
  const shape = useShape(transcript);
  const [folds] = useState(() => new Folds());
  const isFork = Boolean(session.forkedFromSessionId);
  useEffect(() => {
    if (isFork) transcript.inherit();
  }, [transcript, isFork]);
  const known = useMemo(() => new Map(tasks.map((task) => [task.id, task])), [tasks]);
  const around = useMemo<Around>(
    () => ({ session, transcript, tasks: known, folds, onFork }),
    [session, transcript, known, folds, onFork],
  );
  if (shape.state === "loading")
    return (
      <div className={css.other}>
        <Skeleton lines={8} />
      </div>
    );
  if (shape.state === "failed")
    return (
      <div className={css.other}>
        <Problem error={shape.error} retry={() => void transcript.load()} />
      </div>
    );
  if (!shape.ids.length && !shape.older)
    return (
      <div className={css.other}>
        <Empty icon={<MessageSquareDashed />} title="Nothing was said yet">
          Write what the agent should do. It answers here.
        </Empty>
        <div className={css.column}>{footer}</div>
      </div>
    );
  return (
    <AroundContext value={around}>
      <List shape={shape} focusMessage={focusMessage ?? null} footer={footer} />
    </AroundContext>
  );
}
