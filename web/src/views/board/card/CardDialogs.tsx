/** The dialogs of a card: changes, notes, runs, setup, removal of its worktree. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { patchWorktree, runRequest } from "@/api/actions";
import { worktreeDiffQuery } from "@/api/queries";
import type { Card, Worktree } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, TextArea } from "@/ui/controls/Field";
import { DiffView } from "@/ui/diff/DiffView";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { FinishBar } from "@/views/finish/FinishBar";
import { RemoveWorktreeDialog } from "@/views/forms/dialogs/RemoveWorktreeDialog";
import { RunsDialog } from "@/views/runs/RunsDialog";
import { SetupDialog } from "@/views/worktree/SetupDialog";
import { type CardAct, cardName } from "./Card";

export function CardDialogs({ what, card, onClose }: { what: CardAct; card: Card; onClose: () => void }) {
  if (!card.worktree) return null;
  const props = { name: cardName(card), worktree: card.worktree, onClose };
  if (what === "diff") return <DiffDialog {...props} />;
  if (what === "finish") return <FinishWorkDialog {...props} />;
  if (what === "run")
    return (
      <RunsDialog name={props.name} worktreeId={card.worktree.id} repoId={card.repo.id} onClose={onClose} />
    );
  if (what === "setup") return <SetupDialog {...props} />;
  return what === "notes" ? <NotesDialog {...props} /> : <RemoveWorktreeDialog {...props} />;
}

interface DialogProps {
  name: string;
  worktree: Worktree;
  onClose: () => void;
}

function DiffDialog({ name, worktree, onClose }: DialogProps) {
  const query = useQuery(worktreeDiffQuery(worktree.id));
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`Changes in ${name}`}
      description={`Since ${worktree.baseRef ?? "its base"}, including uncommitted changes.`}
    >
      <QueryResult query={query}>
        {(diff) =>
          diff.files.length ? (
            <>
              {diff.note && <p>{diff.note}</p>}
              <DiffView patch={diff.text} />
            </>
          ) : (
            <Empty title="No changes">Its files are the same as in its base.</Empty>
          )
        }
      </QueryResult>
    </Dialog>
  );
}

function NotesDialog({ name, worktree, onClose }: DialogProps) {
  const [notes, setNotes] = useState(worktree.notes);
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    const done = await runRequest(() => patchWorktree(worktree.id, { notes }));
    setBusy(false);
    if (done) onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => void save()}
      title={`Notes on ${name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={busy}>
            Save
          </Button>
        </>
      }
    >
      <Field label="Notes" hint="Not shown to agents.">
        <TextArea value={notes} onChange={(event) => setNotes(event.target.value)} rows={5} />
      </Field>
    </Dialog>
  );
}

/** Shows how far the work is, and the steps that finish it. */
function FinishWorkDialog({ name, worktree, onClose }: DialogProps) {
  return (
    <Dialog open onClose={onClose} title={`Finish ${name}`}>
      <FinishBar worktreeId={worktree.id} />
    </Dialog>
  );
}
