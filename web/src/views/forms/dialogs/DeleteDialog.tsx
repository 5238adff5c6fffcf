/** Cancelling or deleting a session, with all below it or with its worktree: what would be lost is named before. */
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useLocation } from "wouter";
import { deleteSession } from "@/api/actions";
import { lossesQuery, useTree, worktreeQuery } from "@/api/queries";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { plural } from "@/lib/format";
import { nameOf } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import { toast } from "@/ui/feedback/toast";
import { Footer } from "@/views/forms/layout/DialogButtons";
import { Choice } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { LossList } from "@/views/forms/layout/LossList";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import {
  below,
  type Deletion,
  hasLosses,
  missing,
  type Outcome,
  outcome,
  query,
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
  const [result, setResult] = useState<Outcome | null>(null);
  const under = below(session.id, useTree(session.id).data?.sessions ?? []).filter(
    (one) => one.kind !== "btw",
  );
  const worktreeId = session.worktreeId ?? "";
  const worktree = useQuery({ ...worktreeQuery(worktreeId), enabled: Boolean(worktreeId) }).data;
  const looked = useQuery({ ...lossesQuery(worktreeId, session.id), enabled: Boolean(worktreeId) });
  const stays = worktreeStays(session, worktree, deletion, looked.data);
  const wanted = { ...deletion, worktree: deletion.worktree && !stays };
  const lacking = missing(wanted, looked.data, under.length);

  const leave = () => {
    onClose();
    if (deletion.purge && location.includes(session.id)) navigate(routes.home);
  };
  const form = useSubmit(
    () => deleteSession(session.id, query(wanted)),
    (ended) => {
      const told = outcome(ended, wanted);
      if (told.notes.length) setResult(told);
      else {
        toast(told.text);
        leave();
      }
    },
    FIELDS,
  );
  const submit = () => {
    if (!lacking) form.submit();
  };
  if (result)
    return (
      <Dialog
        open
        onClose={leave}
        title={result.text}
        footer={
          <Button look="primary" onClick={leave}>
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
      title={active ? "Cancel or delete" : "Delete this session"}
      description={`“${nameOf(session)}”`}
      onSubmit={submit}
      footer={
        <Footer busy={form.busy} onClose={onClose} danger disabled={lacking !== null}>
          {deletion.purge ? "Delete for good" : "Cancel the session"}
        </Footer>
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
              title="Cancel the session"
            >
              It stops and ends. The transcript stays, and it can be resumed.
            </Choice>
          )}
          <Choice
            name={name}
            checked={deletion.purge}
            onChoose={() => set({ purge: true })}
            title="Delete it for good"
          >
            Transcript and all. This cannot be undone.
          </Choice>
        </div>
        {under.length > 0 && (
          <Switch
            label={`Also ${plural(under.length, "session")} below it`}
            hint={under
              .slice(0, 4)
              .map((one) => nameOf(one))
              .concat(under.length > 4 ? ["…"] : [])
              .join(", ")}
            checked={deletion.cascade}
            onChange={(cascade) => set({ cascade })}
          />
        )}
        {session.worktreeId && (
          <Switch
            label="Also delete the worktree"
            hint={stays ?? worktree?.path ?? session.cwd}
            checked={wanted.worktree}
            onChange={(on) => set({ worktree: on, force: false })}
            disabled={stays !== null}
          />
        )}
        {wanted.worktree && looked.error !== null && (
          <p className={css.wrong} role="alert">
            What would be lost cannot be told: {looked.error.message}
          </p>
        )}
        {wanted.worktree && looked.data && hasLosses(looked.data) && (
          <>
            <LossList losses={looked.data} />
            <label className={css.check}>
              <input
                type="checkbox"
                checked={deletion.force}
                onChange={(event) => set({ force: event.target.checked })}
              />
              <span className={css.checkText}>
                Delete anyway; a recovery ref is kept.
                <span className={css.hint}>
                  The worktree can be brought back with all of the above. Ignored files are not kept.
                </span>
              </span>
            </label>
          </>
        )}
        {wanted.worktree && looked.data && !hasLosses(looked.data) && (
          <p className={css.hint}>
            Nothing would be lost: all of its work is committed, and is somewhere else too.
          </p>
        )}
        {lacking && !(wanted.worktree && hasLosses(looked.data)) && <p className={css.hint}>{lacking}</p>}
      </SubmitKeys>
    </Dialog>
  );
}
