/** Shows the changes that a turn made to files. */
import { useQuery } from "@tanstack/react-query";
import { taskDiffQuery } from "@/api/queries";
import type { Task } from "@/api/types";
import { routes } from "@/app/routes";
import { firstLine, plural } from "@/lib/format";
import { usePref } from "@/lib/prefs";
import { hasEnded } from "@/lib/words";
import { ButtonLink } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import { DiffCounts, DiffView } from "@/ui/diff/DiffView";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import css from "./Dialogs.module.css";

export function ChangesDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const [split, setSplit] = usePref("diff.split", false);
  const query = useQuery(taskDiffQuery(task.id));
  return (
    <Dialog open wide onClose={onClose} title="Changes" description={`Turn: “${firstLine(task.prompt, 90)}”`}>
      <QueryResult query={query}>
        {(diff) =>
          diff.files.length ? (
            <div className={css.stack}>
              <div className={css.bar}>
                <span>
                  {plural(diff.files.length, "file")}{" "}
                  <DiffCounts additions={diff.additions} deletions={diff.deletions} />
                </span>
                <ButtonLink href={routes.review("task", task.id)} size="small">
                  Review
                </ButtonLink>
                <Switch label="Side by side" checked={split} onChange={setSplit} />
              </div>
              {!hasEnded(task.status) && (
                <p className={css.hint}>The turn is still running. These are its changes so far.</p>
              )}
              {diff.overlaps.length > 0 && (
                <p className={css.warn}>
                  {plural(diff.overlaps.length, "other turn")} ran in this folder at the same time and may
                  have made some of these changes.
                </p>
              )}
              {diff.note && <p className={css.hint}>{diff.note}</p>}
              <DiffView patch={diff.text} split={split} />
              {diff.truncated && <p className={css.warn}>The diff is too long to show in full.</p>}
            </div>
          ) : (
            <Empty title="No changes">{diff.note ?? "This turn changed no files."}</Empty>
          )
        }
      </QueryResult>
    </Dialog>
  );
}
