/** Shows the answer to a side question while it streams. */
import { useEffect } from "react";
import { useTasks } from "@/api/queries";
import { hasEnded, TASK_STATUS_NAMES } from "@/lib/words";
import { useEntry, useOutline, useTranscript } from "@/live/hooks";
import type { Transcript } from "@/live/transcript/transcript";
import { Skeleton } from "@/ui/feedback/Placeholders";
import { Markdown } from "@/ui/markdown/Markdown";
import css from "@/views/forms/layout/form.module.css";
import styles from "./SideQuestionAnswer.module.css";

export function SideQuestionAnswer({
  sessionId,
  question,
  onFinish,
}: {
  sessionId: string;
  question: string;
  onFinish: () => void;
}) {
  const transcript = useTranscript(sessionId);
  const { ids } = useOutline(transcript);
  const task = useTasks(sessionId).data?.[0];
  const over = task !== undefined && hasEnded(task.status);
  // biome-ignore lint/correctness/useExhaustiveDependencies: called once, when the turn ends
  useEffect(() => {
    if (over) onFinish();
  }, [over]);
  return (
    <div className={css.stack}>
      <blockquote className={styles.quote}>{question}</blockquote>
      <div aria-live="polite">
        {ids.map((id) => (
          <AnswerText key={id} transcript={transcript} id={id} />
        ))}
        {!over && <Skeleton lines={2} />}
        {over && task.status !== "completed" && (
          <p className={css.wrong} role="alert">
            {task.error?.message ?? `${TASK_STATUS_NAMES[task.status]}.`}
          </p>
        )}
      </div>
    </div>
  );
}

function AnswerText({ transcript, id }: { transcript: Transcript; id: string }) {
  const entry = useEntry(transcript, id);
  if (entry?.message.role !== "agent" || entry.message.content.type !== "text") return null;
  return <Markdown text={entry.text} />;
}
