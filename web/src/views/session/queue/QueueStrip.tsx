/** Shows the next queued prompts above the composer, with a link to the whole queue. */
import { ListOrdered, X } from "lucide-react";
import { cancelTask, runRequest } from "@/api/actions";
import { firstLine, plural } from "@/lib/format";
import { Button, IconButton } from "@/ui/controls/Button";
import type { SessionState } from "../sessionState";
import css from "./Queue.module.css";

const MAX_SHOWN = 2;

export function QueueStrip({ state, onOpen }: { state: SessionState; onOpen: () => void }) {
  if (!state.queue.length) return null;
  const more = state.queue.length - MAX_SHOWN;
  return (
    <section className={css.strip} aria-label="Queue">
      <div className={css.stripHead}>
        <ListOrdered aria-hidden />
        <span className={css.stripWords}>
          {plural(state.queue.length, "prompt")} queued{state.paused ? ", paused" : ""}
        </span>
        <Button variant="quiet" size="small" onClick={onOpen}>
          {more > 0 ? `Show all (${more} more)` : "Show queue"}
        </Button>
      </div>
      <ol>
        {state.queue.slice(0, MAX_SHOWN).map((task, index) => (
          <li key={task.id} className={css.stripItem}>
            <span className={css.place}>{index + 1}</span>
            <span className={css.stripText}>{firstLine(task.prompt)}</span>
            <IconButton
              label={`Remove from queue: ${firstLine(task.prompt, 40)}`}
              size="small"
              onClick={() => void runRequest(() => cancelTask(task.id))}
            >
              <X />
            </IconButton>
          </li>
        ))}
      </ol>
    </section>
  );
}
