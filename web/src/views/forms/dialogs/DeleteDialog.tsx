/** Ends or deletes a session, optionally with its descendants or its worktree, and names what would be lost. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useLocation } from "wouter";
import { deleteSession } from "@/api/actions";
import { lossesQuery, useTree, worktreeQuery } from "@/api/queries";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { plural } from "@/lib/format";
import { sessionName } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import { toast } from "@/ui/feedback/toast";
import { DialogButtons } from "@/views/forms/layout/DialogButtons";
import { Choice } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { LossList } from "@/views/forms/layout/LossList";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import {
  type Deletion,
  type DeletionOutcome,
  deletionQuery,
  descendantsOf,
  describeOutcome,
  hasLosses,
  unmetRequirement,
  worktreeStays,
} from "./deletion";

export interface DeleteDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function DeleteDialog(props: DeleteDialogProps) {
  return props.open ? <DeleteForm {...props} /> : null;
}

const FIELDS = [] as const;

function DeleteForm({ session, onClose }: DeleteDialogProps) {
  const [location, navigate] = useLocation();
  const name = useId();
  const active = session.status === "active";
  const [deletion, setDeletion] = useState<Deletion>({
    purge: !active,
    cascade: false,
    worktree: false,
    force: false,
  });
  const set = (change: Partial<Deletion>) => setDeletion((known) => ({ ...known, ...change }));
  const [result, setResult] = useState<DeletionOutcome | null>(null);
  const descendants = descendantsOf(session.id, useTree(session.id).data?.sessions ?? []).filter(
    (node) => node.kind !== "btw",
  );
  const worktreeId = session.worktreeId ?? "";
  const worktree = useQuery({ ...worktreeQuery(worktreeId), enabled: Boolean(worktreeId) }).data;
  const losses = useQuery({ ...lossesQuery(worktreeId, session.id), enabled: Boolean(worktreeId) });
  const stays = worktreeStays(session, worktree, deletion, losses.data);
  const request = { ...deletion, worktree: deletion.worktree && !stays };
  const blocker = unmetRequirement(request, losses.data, descendants.length);

  const leave = () => {
    onClose();
    if (deletion.purge && location.includes(session.id)) navigate(routes.home);
  };
  const form = useSubmit(
    () => deleteSession(session.id, deletionQuery(request)),
    (ended) => {
      const result = describeOutcome(ended, request);
      if (result.notes.length) setResult(result);
      else {
        toast(result.text);
        leave();
      }
    },
    FIELDS,
  );
  const submit = () => {
    if (!blocker) form.submit();
  };
  if (result)
    return (
      <Dialog
        open
        onClose={leave}
        title={result.text}
        footer={
          <Button variant="primary" onClick={leave}>
            Close
          </Button>
        }
      >
        <ul className={css.stackSmall}>
          {result.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      </Dialog>
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title={active ? "Stop or delete" : "Delete session"}
      description={`“${sessionName(session)}”`}
      onSubmit={submit}
      footer={
        <DialogButtons busy={form.busy} onClose={onClose} danger disabled={blocker !== null}>
          {deletion.purge ? "Delete permanently" : "End session"}
        </DialogButtons>
      }
    >
      <SubmitKeys onSubmit={submit}>
        <FormProblem of={form} />
        <div className={css.choices}>
          {active && (
            <Choice
              name={name}
              checked={!deletion.purge}
              onChoose={() => set({ purge: false })}
              title="End session"
            >
              Stops the agent. The transcript stays, and the session can be resumed.
            </Choice>
          )}
          <Choice
            name={name}
            checked={deletion.purge}
            onChoose={() => set({ purge: true })}
            title="Delete permanently"
          >
            Deletes the transcript too. This cannot be undone.
          </Choice>
        </div>
        {descendants.length > 0 && (
          <Switch
            label={`Include ${plural(descendants.length, "session")} forked or spawned from it`}
            hint={descendants
              .slice(0, 4)
              .map((node) => sessionName(node))
              .concat(descendants.length > 4 ? ["…"] : [])
              .join(", ")}
            checked={deletion.cascade}
            onChange={(cascade) => set({ cascade })}
          />
        )}
        {session.worktreeId && (
          <Switch
            label="Also delete the worktree"
            hint={stays ?? worktree?.path ?? session.cwd}
            checked={request.worktree}
            onChange={(on) => set({ worktree: on, force: false })}
            disabled={stays !== null}
          />
        )}
        {request.worktree && losses.error !== null && (
          <p className={css.wrong} role="alert">
            Cannot check for unsaved work: {losses.error.message}
          </p>
        )}
        {request.worktree && losses.data && hasLosses(losses.data) && (
          <>
            <LossList losses={losses.data} />
            <label className={css.check}>
              <input
                type="checkbox"
                checked={deletion.force}
                onChange={(event) => set({ force: event.target.checked })}
              />
              <span className={css.checkText}>
                Delete anyway and keep a recovery ref
                <span className={css.hint}>
                  The worktree can be recovered with all of the above, except ignored files.
                </span>
              </span>
            </label>
          </>
        )}
        {request.worktree && losses.data && !hasLosses(losses.data) && (
          <p className={css.hint}>Nothing will be lost: all work is committed and pushed.</p>
        )}
        {blocker && !(request.worktree && hasLosses(losses.data)) && <p className={css.hint}>{blocker}</p>}
      </SubmitKeys>
    </Dialog>
  );
}
