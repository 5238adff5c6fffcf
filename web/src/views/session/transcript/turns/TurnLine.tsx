/** Ends a turn in the transcript: its status, duration and cost, and actions on its changes. */
import { FileDiff, GitFork, Hand, LoaderCircle, RotateCcw, Undo2 } from "lucide-react";
import { memo, type ReactNode, useEffect, useReducer, useState } from "react";
import type { Task } from "@/api/types";
import { duration, money, plural, tokens } from "@/lib/format";
import { hasEnded, TASK_STATUS_NAMES } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Badge } from "@/ui/labels/Badge";
import { useTaskOf, useTranscriptContext } from "../TranscriptContext";
import { ChangesDialog } from "./ChangesDialog";
import { RestoreDialog } from "./RestoreDialog";
import css from "./TurnLine.module.css";

const secondsOf = (task: Task, now: number) =>
  task.startedAt
    ? ((task.endedAt ? Date.parse(task.endedAt) : now) - Date.parse(task.startedAt)) / 1000
    : null;

function Elapsed({ task }: { task: Task }) {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  const over = hasEnded(task.status);
  useEffect(() => {
    if (over) return;
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, [over]);
  const seconds = secondsOf(task, Date.now());
  return seconds === null ? null : <span>{duration(Math.max(0, over ? seconds : Math.floor(seconds)))}</span>;
}

function factsOf(task: Task): ReactNode[] {
  const usage = task.usage as { totalTokens?: number | null; counts?: string } | null;
  const total = usage?.totalTokens;
  return [
    task.toolUseCount > 0 && <span key="tools">{plural(task.toolUseCount, "tool call")}</span>,
    total ? (
      <span key="tokens">
        {tokens(total)} tokens{usage?.counts === "call" ? " in the last call" : ""}
      </span>
    ) : null,
    task.cost?.amount ? <span key="cost">{money(task.cost.amount, task.cost.currency)}</span> : null,
    task.attempt > 1 && (
      <Badge
        key="attempt"
        tone="waiting"
        icon={<RotateCcw />}
        title="The agent died during the first attempt."
      >
        Attempt {task.attempt}
      </Badge>
    ),
  ];
}

export const TurnLine = memo(function TurnLine({ taskId }: { taskId: string }) {
  const { onFork } = useTranscriptContext();
  const task = useTaskOf(taskId);
  const [dialog, setDialog] = useState<"changes" | "restore" | null>(null);
  if (!task) return <div className={css.line} data-row={`task:${taskId}`} />;
  const over = hasEnded(task.status);
  const hasFiles = Boolean(task.gitBefore?.sha);
  const close = () => setDialog(null);
  return (
    <div className={css.line} data-row={`task:${taskId}`} data-status={task.status}>
      <div className={css.facts}>
        <span className={css.status}>
          {task.status === "waiting_permission" ? (
            <Hand aria-hidden />
          ) : (
            !over && task.status !== "interrupted" && <LoaderCircle className={css.spin} aria-hidden />
          )}
          {TASK_STATUS_NAMES[task.status]}
        </span>
        <Elapsed task={task} />
        {factsOf(task)}
      </div>
      {over && (
        <div className={css.actions}>
          {hasFiles && (
            <>
              <Button variant="quiet" size="small" icon={<FileDiff />} onClick={() => setDialog("changes")}>
                Changes
              </Button>
              <Button variant="quiet" size="small" icon={<Undo2 />} onClick={() => setDialog("restore")}>
                Restore files…
              </Button>
            </>
          )}
          <Button variant="quiet" size="small" icon={<GitFork />} onClick={() => onFork(taskId)}>
            Fork from here
          </Button>
        </div>
      )}
      {dialog === "changes" && <ChangesDialog task={task} onClose={close} />}
      {dialog === "restore" && <RestoreDialog task={task} onClose={close} />}
    </div>
  );
});
