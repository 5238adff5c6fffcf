/** What the session has changed in its folder since it began. */
import { FileCheck, RotateCw } from "lucide-react";
import { useSessionDiff } from "@/api/queries";
import type { Session, Task } from "@/api/types";
import { plural } from "@/lib/format";
import { IconButton } from "@/ui/controls/Button";
import { DiffView } from "@/ui/diff/DiffView";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { lastEnd } from "../useMarkSeen";
import css from "./SidePanel.module.css";

export function ChangesPanel({ session, tasks }: { session: Session; tasks: Task[] }) {
  const query = useSessionDiff(session.id, lastEnd(tasks) || null);
  if (session.turns === 0 && !lastEnd(tasks))
    return (
      <Empty icon={<FileCheck />} title="No turn is over yet">
        What the agent changes is shown here after its first turn.
      </Empty>
    );
  return (
    <QueryResult query={query}>
      {(diff) => (
        <>
          <div className={css.totals}>
            <span>{plural(diff.files.length, "file")}</span>
            <span className={css.added}>+{diff.additions}</span>
            <span className={css.removed}>−{diff.deletions}</span>
            <IconButton label="Look again" size="small" onClick={() => void query.refetch()}>
              <RotateCw />
            </IconButton>
          </div>
          {diff.note && <p className={css.note}>{diff.note}</p>}
          {diff.overlaps.length > 0 && (
            <p className={css.note}>
              Other sessions worked in the same folder meanwhile. These files may hold their changes too:{" "}
              {diff.overlaps.join(", ")}
            </p>
          )}
          {diff.truncated && <p className={css.note}>This is very long; its end is left out.</p>}
          {diff.files.length === 0 ? (
            <Empty icon={<FileCheck />} title="Nothing was changed">
              The files are as they were when the session began.
            </Empty>
          ) : (
            <DiffView patch={diff.text} />
          )}
        </>
      )}
    </QueryResult>
  );
}
