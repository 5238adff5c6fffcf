/** Shows a queued prompt: its position, sender and text, which can be edited in place. */
import { ArrowDown, ArrowUp, Bot, Clock, CornerDownLeft, GripVertical, Pencil, User, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { cancelTask, patchTask, runRequest } from "@/api/actions";
import type { Task } from "@/api/types";
import { routes } from "@/app/routes";
import { Button, IconButton } from "@/ui/controls/Button";
import { TextArea } from "@/ui/controls/Field";
import css from "./Queue.module.css";

const SOURCES: Record<Task["source"], { label: string; icon: ReactNode }> = {
  user: { label: "You", icon: <User aria-hidden /> },
  initial: { label: "You", icon: <User aria-hidden /> },
  schedule: { label: "Scheduled", icon: <Clock aria-hidden /> },
  session: { label: "From an agent", icon: <Bot aria-hidden /> },
  btw: { label: "Side question", icon: <Bot aria-hidden /> },
  callback: { label: "Report from a child", icon: <CornerDownLeft aria-hidden /> },
};

interface Props {
  task: Task;
  position: number;
  isLast: boolean;
  isDragged: boolean;
  onMove: (by: -1 | 1) => void;
  onDrag: (taskId: string | null) => void;
  onDrop: () => void;
}

export function QueueItem({ task, position, isLast, isDragged, onMove, onDrag, onDrop }: Props) {
  const [text, setText] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [isDropTarget, setDropTarget] = useState(false);
  const source = SOURCES[task.source];
  const save = async () => {
    if (!text?.trim()) return;
    setBusy(true);
    if (text === task.prompt || (await runRequest(() => patchTask(task.id, { prompt: text })))) setText(null);
    setBusy(false);
  };
  return (
    <li
      className={`${css.item} ${isDragged ? css.dragged : ""} ${isDropTarget ? css.over : ""}`}
      draggable={text === null}
      onDragStart={(event) => {
        event.dataTransfer.setData("text/plain", task.prompt);
        event.dataTransfer.effectAllowed = "move";
        onDrag(task.id);
      }}
      onDragEnd={() => onDrag(null)}
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setDropTarget(true);
      }}
      onDragLeave={() => setDropTarget(false)}
      onDrop={(event) => {
        if (event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setDropTarget(false);
        onDrop();
      }}
    >
      <div className={css.head}>
        <GripVertical aria-hidden className={css.grip} />
        <span className={css.place}>{position}</span>
        <span className={css.source}>
          {source.icon}
          {task.sourceSessionId ? (
            <Link href={routes.session(task.sourceSessionId)}>{source.label}</Link>
          ) : (
            source.label
          )}
        </span>
        <span className={css.tools}>
          <IconButton label="Move up" size="small" disabled={position === 1} onClick={() => onMove(-1)}>
            <ArrowUp />
          </IconButton>
          <IconButton label="Move down" size="small" disabled={isLast} onClick={() => onMove(1)}>
            <ArrowDown />
          </IconButton>
          {task.source !== "callback" && (
            <IconButton label="Edit" size="small" onClick={() => setText(task.prompt)}>
              <Pencil />
            </IconButton>
          )}
          <IconButton
            label="Remove from queue"
            size="small"
            onClick={() => void runRequest(() => cancelTask(task.id))}
          >
            <X />
          </IconButton>
        </span>
      </div>
      {text === null ? (
        <p className={css.prompt}>{task.prompt}</p>
      ) : (
        <form
          className={css.edit}
          onSubmit={(event) => {
            event.preventDefault();
            void save();
          }}
        >
          <TextArea
            aria-label={`Prompt ${position}`}
            value={text}
            autoFocus
            rows={4}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") setText(null);
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
            }}
          />
          <div className={css.row}>
            <Button type="submit" variant="primary" size="small" busy={busy} disabled={!text.trim()}>
              Save
            </Button>
            <Button variant="quiet" size="small" onClick={() => setText(null)}>
              Cancel
            </Button>
          </div>
        </form>
      )}
    </li>
  );
}
