/** What a task has changed in the files. */
import { useQuery } from "@tanstack/react-query";
import { taskDiffQuery } from "@/api/queries";
import type { Task } from "@/api/types";
import { firstLine, plural } from "@/lib/format";
import { usePref } from "@/lib/prefs";
import { isOver } from "@/lib/words";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import { DiffCounts, DiffView } from "@/ui/diff/DiffView";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import css from "./Dialogs.module.css";

export function ChangesDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const [split, setSplit] = usePref("diff.split", false);
  const query = useQuery(taskDiffQuery(task.id));
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Changes"
      description={`By the task “${firstLine(task.prompt, 90)}”`}
    >
      <QueryResult query={query}>
        {(found) =>
          found.files.length ? (
            <div className={css.stack}>
              <div className={css.bar}>
                <span>
                  {plural(found.files.length, "file")}{" "}
                  <DiffCounts additions={found.additions} deletions={found.deletions} />
                </span>
                <Switch label="Side by side" checked={split} onChange={setSplit} />
              </div>
              {!isOver(task.status) && (
                <p className={css.hint}>The task is at work: this is what it has changed so far.</p>
              )}
              {found.overlaps.length > 0 && (
                <p className={css.warn}>
                  {plural(found.overlaps.length, "other task")} worked in this folder at the same time. Some
                  of these changes may be of {found.overlaps.length === 1 ? "that one" : "those"}.
                </p>
              )}
              {found.note && <p className={css.hint}>{found.note}</p>}
              <DiffView patch={found.text} split={split} />
              {found.truncated && <p className={css.warn}>There is more than can be shown here.</p>}
            </div>
          ) : (
            <Empty title="Nothing was changed">{found.note ?? "The task left all files as they were."}</Empty>
          )
        }
      </QueryResult>
    </Dialog>
  );
}
