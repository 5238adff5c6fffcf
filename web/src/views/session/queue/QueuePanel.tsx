/** The queue of a session: what waits, in order, with everything that can be done about it. */
import { ListOrdered, Pause, Play } from "lucide-react";
import { useState } from "react";
import { act, patchSession, patchTask, resumeSession } from "@/api/actions";
import type { Session } from "@/api/types";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Empty } from "@/ui/feedback/Placeholders";
import type { Standing } from "../sessionState";
import css from "./Queue.module.css";
import { QueueItem } from "./QueueItem";
import { dropTarget, moved, stepTarget } from "./reorder";

export function QueuePanel({ session, now }: { session: Session; now: Standing }) {
  const [asMoved, setAsMoved] = useState<{ task: string; before: string; from: string } | null>(null);
  const [dragged, setDragged] = useState<string | null>(null);
  const [said, setSaid] = useState("");
  const order = now.waiting.map((task) => task.id).join();
  // Shown as moved until the server's order arrives.
  const pending = asMoved?.from === order ? asMoved : null;
  const waiting = pending ? moved(now.waiting, pending.task, pending.before) : now.waiting;

  const move = async (taskId: string, before: string | null) => {
    if (before === null) return;
    setAsMoved({ task: taskId, before, from: order });
    const place = moved(now.waiting, taskId, before).findIndex((task) => task.id === taskId) + 1;
    if (await act(() => patchTask(taskId, { before }))) setSaid(`Moved to place ${place}.`);
    else setAsMoved(null);
  };
  return (
    <div className={css.panel}>
      <PauseBar session={session} now={now} />
      {waiting.length === 0 ? (
        <Empty icon={<ListOrdered />} title="Nothing waits">
          Prompts that are sent while a turn is under way line up here.
        </Empty>
      ) : (
        <ol className={css.list} aria-label="Waiting prompts">
          {waiting.map((task, at) => (
            <QueueItem
              key={task.id}
              task={task}
              place={at + 1}
              last={at === waiting.length - 1}
              dragged={dragged === task.id}
              onMove={(by) => void move(task.id, stepTarget(waiting, task.id, by))}
              onDrag={setDragged}
              onDrop={() => {
                if (dragged) void move(dragged, dropTarget(waiting, dragged, task.id));
                setDragged(null);
              }}
            />
          ))}
        </ol>
      )}
      <p className="visually-hidden" role="status">
        {said}
      </p>
    </div>
  );
}

/** Whether the queue moves, and the other way round. */
export function PauseBar({ session, now }: { session: Session; now: Standing }) {
  const [busy, setBusy] = useState(false);
  if (now.ended) return null;
  const turn = async () => {
    setBusy(true);
    await act(() =>
      now.paused ? resumeSession(session.id) : patchSession(session.id, { queuePaused: true }),
    );
    setBusy(false);
  };
  const count = plural(now.waiting.length, "prompt");
  return (
    <div className={css.pauseBar}>
      <span>
        {now.paused
          ? `Paused with ${count} waiting.`
          : now.waiting.length
            ? `${count} waiting.`
            : "The queue is open."}
      </span>
      <Button size="small" busy={busy} icon={now.paused ? <Play /> : <Pause />} onClick={() => void turn()}>
        {now.paused ? "Resume queue" : "Pause queue"}
      </Button>
    </div>
  );
}
