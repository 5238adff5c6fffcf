/** Brings files back to how they were before or after a task; says what was done, and how to undo it. */
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
import { Choice } from "./RadioChoice";

type Restored = components["schemas"]["Restored"];
/** Refusals that a person may overrule. */
const FORCIBLE = ["would_undo_others", "folder_busy"];

const told = (done: Restored) =>
  [
    done.written.length && `${plural(done.written.length, "file")} written`,
    done.removed.length && `${plural(done.removed.length, "file")} removed`,
  ]
    .filter(Boolean)
    .join(", ") || "All files were as they should be";

async function undo(checkpointId: string): Promise<void> {
  try {
    toast(`Undone: ${told(await restoreCheckpoint(checkpointId))}.`);
  } catch (error) {
    toastError(error);
  }
}

function Refused({ error }: { error: ApiError }) {
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
  const [refused, setRefused] = useState<ApiError | null>(null);
  const [done, setDone] = useState<Restored | null>(null);
  const query = useQuery(taskDiffQuery(task.id, true));
  const files = query.data?.files ?? [];
  const force = refused !== null && FORCIBLE.includes(refused.code);
  const restore = async () => {
    setBusy(true);
    try {
      const paths = whole
        ? null
        : files.flatMap((file) => [file.path, ...(file.oldPath ? [file.oldPath] : [])]);
      setDone(await restoreTask(task.id, { moment, paths, force }));
      setRefused(null);
    } catch (error) {
      if (error instanceof ApiError) setRefused(error);
      else toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const change =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value);
      setRefused(null);
    };
  if (done) return <Done done={done} onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Restore files"
      description={`Task “${firstLine(task.prompt, 90)}”`}
      onSubmit={() => void restore()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            look={force ? "danger" : "primary"}
            busy={busy}
            disabled={!whole && !files.length}
          >
            {force ? "Restore anyway" : "Restore"}
          </Button>
        </>
      }
    >
      <div className={css.stack}>
        <Choice
          label="Bring files back to"
          value={moment}
          onChange={change(setMoment)}
          options={[
            { value: "before", label: "Before this task" },
            { value: "after", label: "After this task" },
          ]}
        />
        <Choice
          label="Which files"
          value={whole ? "all" : "some"}
          onChange={change((value: string) => setWhole(value === "all"))}
          options={[
            { value: "all", label: "All of the folder", hint: "Also undoes what later tasks changed." },
            { value: "some", label: "Only what this task changed" },
          ]}
        />
        <QueryResult query={query}>
          {(found) => (
            <div>
              <p className={css.hint}>This task changed {plural(found.files.length, "file")}:</p>
              <ul className={css.files}>
                {found.files.map((file) => (
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
          Ignored files, commits and branches stay as they are. What is in the folder now is kept, so you can
          undo this. The agent is told with its next prompt.
        </p>
        {refused && <Refused error={refused} />}
      </div>
    </Dialog>
  );
}

function Done({ done, onClose }: { done: Restored; onClose: () => void }) {
  const { undoCheckpointId } = done;
  const [busy, setBusy] = useState(false);
  const back = async () => {
    setBusy(true);
    await undo(undoCheckpointId!);
    onClose();
  };
  const lists = [
    ["Written", done.written],
    ["Removed", done.removed],
    ["Left alone", done.left],
  ] as const;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Files restored"
      description={`${told(done)}.`}
      footer={
        <>
          {undoCheckpointId && (
            <Button busy={busy} onClick={() => void back()}>
              Undo
            </Button>
          )}
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </>
      }
    >
      <div className={css.stack}>
        {done.note && <p className={css.hint}>{done.note}</p>}
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
