/** What a card opens: its changes, its notes, and the question before its worktree is removed. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { act, patchWorktree, removeWorktree } from "@/api/actions";
import { lossesQuery, worktreeDiffQuery } from "@/api/queries";
import type { Card, Losses, Worktree } from "@/api/types";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Switch, TextArea } from "@/ui/controls/Field";
import { DiffView } from "@/ui/diff/DiffView";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import { type CardAct, placeName } from "./Card";
import css from "./CardDialogs.module.css";

export function CardDialogs({ what, card, onClose }: { what: CardAct; card: Card; onClose: () => void }) {
  if (!card.worktree) return null;
  const given = { name: placeName(card), worktree: card.worktree, onClose };
  if (what === "diff") return <DiffDialog {...given} />;
  return what === "notes" ? <NotesDialog {...given} /> : <RemoveDialog {...given} />;
}

interface Given {
  name: string;
  worktree: Worktree;
  onClose: () => void;
}

function DiffDialog({ name, worktree, onClose }: Given) {
  const query = useQuery(worktreeDiffQuery(worktree.id));
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`Changes in ${name}`}
      description={`Since ${worktree.baseRef ?? "its base"}, with what is not committed yet.`}
    >
      <QueryResult query={query}>
        {(diff) =>
          diff.files.length ? (
            <>
              {diff.note && <p>{diff.note}</p>}
              <DiffView patch={diff.text} />
            </>
          ) : (
            <Empty title="Nothing has changed">Its files are as they were at the beginning.</Empty>
          )
        }
      </QueryResult>
    </Dialog>
  );
}

function NotesDialog({ name, worktree, onClose }: Given) {
  const [notes, setNotes] = useState(worktree.notes);
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    const done = await act(() => patchWorktree(worktree.id, { notes }));
    setBusy(false);
    if (done) onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => void save()}
      title={`Notes about ${name}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={busy}>
            Save
          </Button>
        </>
      }
    >
      <Field label="Notes" hint="For you: agents are not told.">
        <TextArea value={notes} onChange={(event) => setNotes(event.target.value)} rows={5} />
      </Field>
    </Dialog>
  );
}

function RemoveDialog({ name, worktree, onClose }: Given) {
  const losses = useQuery(lossesQuery(worktree.id));
  const [branch, setBranch] = useState(false);
  const [busy, setBusy] = useState(false);
  // What Bough did not make is forgotten, never deleted: with force, it would be.
  const lost = losses.data !== undefined && worktree.madeByBough && losing(losses.data);
  const stays = losses.data === undefined || (!losses.data.removable && (!lost || isUsed(losses.data)));
  const remove = async () => {
    setBusy(true);
    const done = await act(() =>
      removeWorktree(worktree.id, { force: lost, branch: branch ? "delete" : "keep" }),
    );
    setBusy(false);
    if (!done) return;
    toast(`${name} was removed.`);
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Remove ${name}?`}
      description={
        worktree.madeByBough
          ? `The folder ${worktree.path} is deleted.`
          : `Bough forgets ${worktree.path}; the folder stays.`
      }
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" busy={busy} disabled={stays} onClick={() => void remove()}>
            {lost ? "Remove it with all that" : "Remove it"}
          </Button>
        </>
      }
    >
      <QueryResult query={losses}>
        {(found) => <Lost losses={found} goes={worktree.madeByBough} />}
      </QueryResult>
      {worktree.branchMade && worktree.branch && (
        <div className={css.branch}>
          <Switch label={`Also delete the branch ${worktree.branch}`} checked={branch} onChange={setBranch} />
        </div>
      )}
    </Dialog>
  );
}

const losing = (losses: Losses) =>
  losses.uncommitted.length + losses.untracked.length + losses.unpushed.length > 0;

const isUsed = (losses: Losses) => losses.counts.sessions > 0;

/** Everything that would go, by name. Without force, the server would refuse; with it, all is kept on a ref. */
function Lost({ losses, goes }: { losses: Losses; goes: boolean }) {
  if (isUsed(losses) || (!losing(losses) && !losses.removable))
    return <p className={css.warn}>{losses.why}</p>;
  if (!goes) return <p>{losses.why}</p>;
  if (!losing(losses)) return <p>Nothing would be lost: all of its work is committed and known elsewhere.</p>;
  const parts = [
    { title: "Changed and not committed", items: losses.uncommitted, total: losses.counts.uncommitted },
    { title: "New files", items: losses.untracked, total: losses.counts.untracked },
    {
      title: "Commits that are nowhere else",
      items: losses.unpushed.map((one) => `${one.sha.slice(0, 8)} ${one.subject}`),
      total: losses.counts.unpushed,
    },
  ];
  return (
    <>
      <p className={css.warn}>
        This would go with it. Bough keeps it on a hidden ref, from which it can be brought back.
      </p>
      {parts
        .filter((part) => part.items.length)
        .map((part) => (
          <section key={part.title} className={css.part}>
            <h3>
              {part.title} ({part.total})
            </h3>
            <ul className={css.files}>
              {part.items.slice(0, 12).map((item) => (
                <li key={item}>{item}</li>
              ))}
              {part.total > 12 && <li>and {plural(part.total - 12, "more", "more")}</li>}
            </ul>
          </section>
        ))}
    </>
  );
}
