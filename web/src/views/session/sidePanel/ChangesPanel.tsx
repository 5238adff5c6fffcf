/** Shows the changes in a session's folder since the session started. */
import { FileCheck, MessageSquareCode, RotateCw } from "lucide-react";
import { useSessionDiff } from "@/api/queries";
import type { Session, Task } from "@/api/types";
import { routes } from "@/app/routes";
import { plural } from "@/lib/format";
import { ButtonLink, IconButton } from "@/ui/controls/Button";
import { DiffView } from "@/ui/diff/DiffView";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { lastTurnEnd } from "../useMarkSeen";
import css from "./SidePanel.module.css";

export function ChangesPanel({ session, tasks }: { session: Session; tasks: Task[] }) {
  const query = useSessionDiff(session.id, lastTurnEnd(tasks) || null);
  if (session.turns === 0 && !lastTurnEnd(tasks))
    return (
      <Empty icon={<FileCheck />} title="No changes yet">
        The agent’s changes appear here after its first turn.
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
            <ButtonLink href={routes.review("session", session.id)} size="small" icon={<MessageSquareCode />}>
              Review
            </ButtonLink>
            <IconButton label="Refresh" size="small" onClick={() => void query.refetch()}>
              <RotateCw />
            </IconButton>
          </div>
          {diff.note && <p className={css.note}>{diff.note}</p>}
          {diff.overlaps.length > 0 && (
            <p className={css.note}>
              Other sessions worked in the same folder. These files may include their changes:{" "}
              {diff.overlaps.join(", ")}
            </p>
          )}
          {diff.truncated && <p className={css.note}>The diff is too long to show in full.</p>}
          {diff.files.length === 0 ? (
            <Empty icon={<FileCheck />} title="No changes">
              Files are unchanged since the session started.
            </Empty>
          ) : (
            <DiffView patch={diff.text} />
          )}
        </>
      )}
    </QueryResult>
  );
}
