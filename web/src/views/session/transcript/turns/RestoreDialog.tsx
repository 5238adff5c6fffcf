/** Restores files to their state before or after a turn, shows the result and offers to undo it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { restoreCheckpoint, restoreTask } from "@/api/actions";
import { ApiError } from "@/api/client";
import { taskDiffQuery } from "@/api/queries";
import type { components } from "@/api/schema";
import type { Task } from "@/api/types";
import { routes } from "@/app/routes";
import { firstLine, plural, shortId } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { DiffCounts } from "@/ui/diff/DiffView";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { toast, toastError } from "@/ui/feedback/toast";
import css from "./Dialogs.module.css";
import { RadioChoice } from "./RadioChoice";

type Restored = components["schemas"]["Restored"];
/** Errors that a person may override. */
const FORCIBLE = ["would_undo_others", "folder_busy"];

const summaryOf = (result: Restored) =>
  [
    result.written.length && `${plural(result.written.length, "file")} written`,
    result.removed.length && `${plural(result.removed.length, "file")} removed`,
  ]
    .filter(Boolean)
    .join(", ") || "No files needed changes";

async function undo(checkpointId: string): Promise<void> {
  try {
    toast(`Undone: ${summaryOf(await restoreCheckpoint(checkpointId))}.`);
  } catch (error) {
    toastError(error);
  }
}

function RestoreError({ error }: { error: ApiError }) {
  const sessions = Array.isArray(error.details.sessions) ? (error.details.sessions as string[]) : [];
  return (
    <div className={css.warn} role="alert">
      <p>{error.message}</p>
      {sessions.length > 0 && (
        <p>
          {sessions.map((id) => (
            <Link key={id} href={routes.session(id)}>
              Session {shortId(id)}{" "}
            </Link>
          ))}
        </p>
      )}
    </div>
  );
}

export function RestoreDialog({ task, onClose }: { task: Task; onClose: () => void }) {
  const [moment, setMoment] = useState<"before" | "after">("before");
  const [whole, setWhole] = useState(true);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [result, setResult] = useState<Restored | null>(null);
  const query = useQuery(taskDiffQuery(task.id, true));
  const files = query.data?.files ?? [];
  const force = error !== null && FORCIBLE.includes(error.code);
  const restore = async () => {
    setBusy(true);
    try {
      const paths = whole
        ? null
        : files.flatMap((file) => [file.path, ...(file.oldPath ? [file.oldPath] : [])]);
      setResult(await restoreTask(task.id, { moment, paths, force }));
      setError(null);
    } catch (caught) {
      if (caught instanceof ApiError) setError(caught);
      else toastError(caught);
    } finally {
      setBusy(false);
    }
  };
  const change =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      setError(null);
    };
  if (result) return <RestoreResult result={result} onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Restore files"
      description={`Turn: “${firstLine(task.prompt, 90)}”`}
      onSubmit={() => void restore()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            variant={force ? "danger" : "primary"}
            busy={busy}
            disabled={!whole && !files.length}
          >
            {force ? "Restore anyway" : "Restore"}
          </Button>
        </>
      }
    >
      <div className={css.stack}>
        <RadioChoice
          label="Restore files to"
          value={moment}
          onChange={change(setMoment)}
          options={[
            { value: "before", label: "Before this turn" },
            { value: "after", label: "After this turn" },
          ]}
        />
        <RadioChoice
          label="Files"
          value={whole ? "all" : "some"}
          onChange={change((value: string) => setWhole(value === "all"))}
          options={[
            {
              value: "all",
              label: "All files in the folder",
              hint: "Also undoes the changes of later turns.",
            },
            { value: "some", label: "Only files changed by this turn" },
          ]}
        />
        <QueryResult query={query}>
          {(diff) => (
            <div>
              <p className={css.hint}>This turn changed {plural(diff.files.length, "file")}:</p>
              <ul className={css.files}>
                {diff.files.map((file) => (
                  <li key={file.path}>
                    <span>{file.path}</span>
                    <DiffCounts additions={file.additions} deletions={file.deletions} />
                  </li>
                ))}
              </ul>
            </div>
          )}
        </QueryResult>
        <p className={css.hint}>
          Ignored files, commits and branches are not touched. The current files are saved first, so that you
          can undo this. The agent is notified with its next prompt.
        </p>
        {error && <RestoreError error={error} />}
      </div>
    </Dialog>
  );
}

function RestoreResult({ result, onClose }: { result: Restored; onClose: () => void }) {
  const { undoCheckpointId } = result;
  const [busy, setBusy] = useState(false);
  const undoRestore = async () => {
    setBusy(true);
    await undo(undoCheckpointId!);
    onClose();
  };
  const lists = [
    ["Written", result.written],
    ["Removed", result.removed],
    ["Skipped", result.left],
  ] as const;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Files restored"
      description={`${summaryOf(result)}.`}
      footer={
        <>
          {undoCheckpointId && (
            <Button busy={busy} onClick={() => void undoRestore()}>
              Undo
            </Button>
          )}
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <div className={css.stack}>
        {result.note && <p className={css.hint}>{result.note}</p>}
        {lists.map(
          ([name, paths]) =>
            paths.length > 0 && (
              <div key={name}>
                <p className={css.hint}>{name}</p>
                <ul className={css.files}>
                  {paths.map((path) => (
                    <li key={path}>{path}</li>
                  ))}
                </ul>
              </div>
            ),
        )}
      </div>
    </Dialog>
  );
}
