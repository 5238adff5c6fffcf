/** Shows a session's queue in order, and lets people pause, reorder, edit and remove prompts. */
import { ListOrdered, Pause, Play } from "lucide-react";
import { useState } from "react";
import { patchSession, patchTask, resumeSession, runRequest } from "@/api/actions";
import type { Session } from "@/api/types";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Empty } from "@/ui/feedback/Placeholders";
import type { SessionState } from "../sessionState";
import css from "./Queue.module.css";
import { QueueItem } from "./QueueItem";
import { beforeAfterDrop, beforeAfterStep, reordered } from "./reorder";

export function QueuePanel({ session, state }: { session: Session; state: SessionState }) {
  const [move, setMove] = useState<{ taskId: string; before: string; fromOrder: string } | null>(null);
  const [draggedId, setDraggedId] = useState<string | null>(null);
  const [announcement, setAnnouncement] = useState("");
  const order = state.queue.map((task) => task.id).join();
  // Shows the new order until the server's order arrives.
  const pendingMove = move?.fromOrder === order ? move : null;
  const queue = pendingMove ? reordered(state.queue, pendingMove.taskId, pendingMove.before) : state.queue;

  const moveTask = async (taskId: string, before: string | null) => {
    if (before === null) return;
    setMove({ taskId, before, fromOrder: order });
    const position = reordered(state.queue, taskId, before).findIndex((task) => task.id === taskId) + 1;
    if (await runRequest(() => patchTask(taskId, { before })))
      setAnnouncement(`Moved to position ${position}.`);
    else setMove(null);
  };
  return (
    <div className={css.panel}>
      <PauseBar session={session} state={state} />
      {queue.length === 0 ? (
        <Empty icon={<ListOrdered />} title="Queue is empty">
          Prompts that you send during a turn wait here.
        </Empty>
      ) : (
        <ol className={css.list} aria-label="Queued prompts">
          {queue.map((task, index) => (
            <QueueItem
              key={task.id}
              task={task}
              position={index + 1}
              isLast={index === queue.length - 1}
              isDragged={draggedId === task.id}
              onMove={(by) => void moveTask(task.id, beforeAfterStep(queue, task.id, by))}
              onDrag={setDraggedId}
              onDrop={() => {
                if (draggedId) void moveTask(draggedId, beforeAfterDrop(queue, draggedId, task.id));
                setDraggedId(null);
              }}
            />
          ))}
        </ol>
      )}
      <p className="visually-hidden" role="status">
        {announcement}
      </p>
    </div>
  );
}

/** Shows whether the queue is paused, with a button that pauses or resumes it. */
export function PauseBar({ session, state }: { session: Session; state: SessionState }) {
  const [busy, setBusy] = useState(false);
  if (state.ended) return null;
  const toggle = async () => {
    setBusy(true);
    await runRequest(() =>
      session.queuePaused ? resumeSession(session.id) : patchSession(session.id, { queuePaused: true }),
    );
    setBusy(false);
  };
  const isPaused = session.queuePaused;
  const count = `${plural(state.queue.length, "prompt")} queued`;
  const reason = session.metadata.pauseReason;
  return (
    <div className={css.pauseBar}>
      <span>
        {state.queue.length === 0
          ? isPaused
            ? "Paused until the next prompt"
            : "Queue active"
          : `${count}${isPaused ? ", paused" : ""}`}
      </span>
      {isPaused && typeof reason === "string" && <span className={css.pauseReason}>{reason}</span>}
      <Button size="small" busy={busy} icon={isPaused ? <Play /> : <Pause />} onClick={() => void toggle()}>
        {isPaused ? "Resume queue" : "Pause queue"}
      </Button>
    </div>
  );
}
