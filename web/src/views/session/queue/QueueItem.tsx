/** One prompt that waits: who it is from, its text to be changed in place, and its place in the line. */
import { ArrowDown, ArrowUp, Bot, CornerDownLeft, GripVertical, Pencil, User, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { act, cancelTask, patchTask } from "@/api/actions";
import type { Task } from "@/api/types";
import { routes } from "@/app/routes";
import { Button, IconButton } from "@/ui/controls/Button";
import { TextArea } from "@/ui/controls/Field";
import css from "./Queue.module.css";

const SOURCES: Record<Task["source"], { words: string; icon: ReactNode }> = {
  user: { words: "From a person", icon: <User aria-hidden /> },
  initial: { words: "From a person", icon: <User aria-hidden /> },
  schedule: { words: "From the clock", icon: <User aria-hidden /> },
  session: { words: "From an agent", icon: <Bot aria-hidden /> },
  btw: { words: "Asked aside", icon: <Bot aria-hidden /> },
  callback: { words: "Report of a child", icon: <CornerDownLeft aria-hidden /> },
};

interface Props {
  task: Task;
  place: number;
  last: boolean;
  dragged: boolean;
  onMove: (by: -1 | 1) => void;
  onDrag: (taskId: string | null) => void;
  onDrop: () => void;
}

export function QueueItem({ task, place, last, dragged, onMove, onDrag, onDrop }: Props) {
  const [text, setText] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const source = SOURCES[task.source];
  const save = async () => {
    if (!text?.trim()) return;
    setBusy(true);
    if (text === task.prompt || (await act(() => patchTask(task.id, { prompt: text })))) setText(null);
    setBusy(false);
  };
  return (
    <li
      className={`${css.item} ${dragged ? css.dragged : ""} ${over ? css.over : ""}`}
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
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        if (event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setOver(false);
        onDrop();
      }}
    >
      <div className={css.head}>
        <GripVertical aria-hidden className={css.grip} />
        <span className={css.place}>{place}</span>
        <span className={css.source}>
          {source.icon}
          {task.sourceSessionId ? (
            <Link href={routes.session(task.sourceSessionId)}>{source.words}</Link>
          ) : (
            source.words
          )}
        </span>
        <span className={css.tools}>
          <IconButton label="Move up" size="small" disabled={place === 1} onClick={() => onMove(-1)}>
            <ArrowUp />
          </IconButton>
          <IconButton label="Move down" size="small" disabled={last} onClick={() => onMove(1)}>
            <ArrowDown />
          </IconButton>
          {task.source !== "callback" && (
            <IconButton label="Edit" size="small" onClick={() => setText(task.prompt)}>
              <Pencil />
            </IconButton>
          )}
          <IconButton
            label="Take out of the queue"
            size="small"
            onClick={() => void act(() => cancelTask(task.id))}
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
            aria-label={`Prompt ${place}`}
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
            <Button type="submit" look="primary" size="small" busy={busy} disabled={!text.trim()}>
              Save
            </Button>
            <Button look="quiet" size="small" onClick={() => setText(null)}>
              Keep as it was
            </Button>
          </div>
        </form>
      )}
    </li>
  );
}
