/** Ends a turn in the transcript: its status, duration and cost, and actions on its changes. */
import { FileDiff, GitFork, Hand, LoaderCircle, RotateCcw, RotateCw, Undo2 } from "lucide-react";
import { memo, type ReactNode, useCallback, useRef, useState } from "react";
import { useAsksQuestion, useMay } from "@/api/queries";
import type { Task } from "@/api/types";
import { clockTime, duration, money, plural, tokens } from "@/lib/format";
import { endedEarly, hasEnded, taskStatusName, wasRemovedFromQueue } from "@/lib/words";
import { useServerClock } from "@/live/clock";
import { useConnection, useEvents } from "@/live/hooks";
import { Button } from "@/ui/controls/Button";
import { Badge } from "@/ui/labels/Badge";
import { retry } from "@/views/forms/layout/toastMadeRoom";
import { useTaskOf, useTranscriptContext } from "../TranscriptContext";
import { ChangesDialog } from "./ChangesDialog";
import { RestoreDialog } from "./RestoreDialog";
import { silentSince } from "./silence";
import css from "./TurnLine.module.css";

const secondsOf = (task: Task, now: number) =>
  task.startedAt
    ? ((task.endedAt ? Date.parse(task.endedAt) : now) - Date.parse(task.startedAt)) / 1000
    : null;

function Elapsed({ task }: { task: Task }) {
  const over = hasEnded(task.status);
  const seconds = secondsOf(task, useServerClock(!over));
  return seconds === null ? null : <span>{duration(Math.max(0, over ? seconds : Math.floor(seconds)))}</span>;
}

/** Says that the agent of a running turn has sent nothing for a while, and since when. */
function Silence({ task }: { task: Task }) {
  const { transcript } = useTranscriptContext();
  const heardAt = useRef(0);
  const { sessionId } = task;
  useEvents(
    useCallback(
      (event) => {
        if (event.sessionId === sessionId && event.type.startsWith("message.")) heardAt.current = Date.now();
      },
      [sessionId],
    ),
  );
  const now = useServerClock(true);
  const isLive = useConnection().state === "live";
  const since = silentSince(transcript, task, heardAt.current, now);
  return since === null || !isLive ? null : (
    <span className={css.silent} role="status">
      Agent silent since {clockTime(since)}
    </span>
  );
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

/** Sends the prompt of a failed turn again, with its files. Only the latest turn has the button: an earlier prompt would
 * come out of order. */
function TryAgain({ task }: { task: Task }) {
  const { session, tasks } = useTranscriptContext();
  const mayWork = useMay("operator");
  const [busy, setBusy] = useState(false);
  const isLatest = ![...tasks.values()].some(
    (other) => other.position > task.position && !wasRemovedFromQueue(other),
  );
  const canGoOn = session.status !== "error" || session.metadata.reason === "marked_failed";
  if (!mayWork || !isLatest || !canGoOn || task.sessionId !== session.id) return null;
  const tryAgain = async () => {
    setBusy(true);
    await retry(task.id);
    setBusy(false);
  };
  return (
    <Button size="small" icon={<RotateCw />} busy={busy} onClick={() => void tryAgain()}>
      Try again
    </Button>
  );
}

/** Says what the turn waits for: an approval, or an answer to a question. */
function WaitingWords({ task }: { task: Task }) {
  const asks = useAsksQuestion(task.sessionId);
  return <>{asks ? "Asks you a question" : taskStatusName(task)}</>;
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
    <div
      className={css.line}
      data-row={`task:${taskId}`}
      data-status={task.status === "completed" && endedEarly(task.stopReason) ? "early" : task.status}
    >
      <div className={css.facts}>
        <span className={css.status}>
          {task.status === "waiting_permission" ? (
            <Hand aria-hidden />
          ) : (
            !over && task.status !== "interrupted" && <LoaderCircle className={css.spin} aria-hidden />
          )}
          {task.status === "waiting_permission" ? <WaitingWords task={task} /> : taskStatusName(task)}
        </span>
        <Elapsed task={task} />
        {task.status === "running" && <Silence task={task} />}
        {factsOf(task)}
      </div>
      {over && (
        <div className={css.actions}>
          {task.status === "failed" && <TryAgain task={task} />}
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
