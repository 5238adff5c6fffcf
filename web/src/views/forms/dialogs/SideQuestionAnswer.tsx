/** The answer to a question aside, while it comes. */
import { useEffect } from "react";
import { useTasks } from "@/api/queries";
import { isOver, TASKS } from "@/lib/words";
import { useEntry, useOutline, useTranscript } from "@/live/hooks";
import type { Transcript } from "@/live/transcript/transcript";
import { Skeleton } from "@/ui/feedback/Placeholders";
import { Markdown } from "@/ui/markdown/Markdown";
import css from "@/views/forms/layout/form.module.css";
import own from "./SideQuestionAnswer.module.css";

export function AsideAnswer({
  sessionId,
  question,
  onOver,
}: {
  sessionId: string;
  question: string;
  onOver: () => void;
}) {
  const transcript = useTranscript(sessionId);
  const { ids } = useOutline(transcript);
  const task = useTasks(sessionId).data?.[0];
  const over = task !== undefined && isOver(task.status);
  // biome-ignore lint/correctness/useExhaustiveDependencies: told once, when it is over
  useEffect(() => {
    if (over) onOver();
  }, [over]);
  return (
    <div className={css.stack}>
      <blockquote className={own.quote}>{question}</blockquote>
      <div aria-live="polite">
        {ids.map((id) => (
          <Said key={id} transcript={transcript} id={id} />
        ))}
        {!over && <Skeleton lines={2} />}
        {over && task.status !== "completed" && (
          <p className={css.wrong} role="alert">
            {task.error?.message ?? `${TASKS[task.status]}.`}
          </p>
        )}
      </div>
    </div>
  );
}

function Said({ transcript, id }: { transcript: Transcript; id: string }) {
  const entry = useEntry(transcript, id);
  if (entry?.message.role !== "agent" || entry.message.content.type !== "text") return null;
  return <Markdown text={entry.text} />;
}
