/** The queue in a few lines above the box: what comes next, and the way to all of it. */
import { ListOrdered, X } from "lucide-react";
import { act, cancelTask } from "@/api/actions";
import { firstLine, plural } from "@/lib/format";
import { Button, IconButton } from "@/ui/controls/Button";
import type { Standing } from "../sessionState";
import css from "./Queue.module.css";

const SHOWN = 2;

export function QueueStrip({ now, onOpen }: { now: Standing; onOpen: () => void }) {
  if (!now.waiting.length) return null;
  const more = now.waiting.length - SHOWN;
  return (
    <section className={css.strip} aria-label="Queue">
      <div className={css.stripHead}>
        <ListOrdered aria-hidden />
        <span className={css.stripWords}>
          {plural(now.waiting.length, "prompt")} {now.waiting.length === 1 ? "waits" : "wait"}
          {now.paused ? ", paused" : ""}
        </span>
        <Button look="quiet" size="small" onClick={onOpen}>
          {more > 0 ? `Show all (${more} more)` : "Show queue"}
        </Button>
      </div>
      <ol>
        {now.waiting.slice(0, SHOWN).map((task, at) => (
          <li key={task.id} className={css.stripItem}>
            <span className={css.place}>{at + 1}</span>
            <span className={css.stripText}>{firstLine(task.prompt)}</span>
            <IconButton
              label={`Take out of the queue: ${firstLine(task.prompt, 40)}`}
              size="small"
              onClick={() => void act(() => cancelTask(task.id))}
            >
              <X />
            </IconButton>
          </li>
        ))}
      </ol>
    </section>
  );
}
