/** Removes a worktree, after showing what would be lost with it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { removeWorktree, runRequest } from "@/api/actions";
import { lossesQuery } from "@/api/queries";
import type { Losses, Worktree } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import { LossList } from "@/views/forms/layout/LossList";
import css from "./RemoveWorktreeDialog.module.css";

interface DialogProps {
  name: string;
  worktree: Worktree;
  onClose: () => void;
}

export function RemoveWorktreeDialog({ name, worktree, onClose }: DialogProps) {
  const losses = useQuery(lossesQuery(worktree.id));
  const [branch, setBranch] = useState(false);
  const [busy, setBusy] = useState(false);
  // Bough only stops tracking worktrees that it did not create; with force it would delete them.
  const lost = losses.data !== undefined && worktree.madeByBough && losing(losses.data);
  const stays = losses.data === undefined || (!losses.data.removable && (!lost || isUsed(losses.data)));
  const remove = async () => {
    setBusy(true);
    const done = await runRequest(() =>
      removeWorktree(worktree.id, { force: lost, branch: branch ? "delete" : "keep" }),
    );
    setBusy(false);
    if (!done) return;
    toast(`${name} removed.`);
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Remove ${name}?`}
      description={
        worktree.madeByBough
          ? `Deletes the folder ${worktree.path}.`
          : `Bough stops tracking ${worktree.path}. The folder stays.`
      }
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" busy={busy} disabled={stays} onClick={() => void remove()}>
            {lost ? "Remove worktree and changes" : "Remove worktree"}
          </Button>
        </>
      }
    >
      <QueryResult query={losses}>
        {(data) => <RemovalLosses losses={data} deletes={worktree.madeByBough} />}
      </QueryResult>
      {worktree.branchMade && worktree.branch && (
        <div className={css.branch}>
          <Switch label={`Also delete branch ${worktree.branch}`} checked={branch} onChange={setBranch} />
        </div>
      )}
    </Dialog>
  );
}

const losing = (losses: Losses) =>
  losses.uncommitted.length + losses.untracked.length + losses.unpushed.length > 0;

const isUsed = (losses: Losses) => losses.counts.sessions > 0;

/** Shows why the worktree cannot be removed, or the work that would be lost with it. */
function RemovalLosses({ losses, deletes }: { losses: Losses; deletes: boolean }) {
  if (isUsed(losses) || (!losing(losses) && !losses.removable))
    return <p className={css.warn}>{losses.why}</p>;
  if (!deletes) return <p>{losses.why}</p>;
  if (!losing(losses)) return <p>Nothing will be lost: all work is committed and pushed.</p>;
  return (
    <>
      <p className={css.warn}>This work will be removed. Bough keeps it on a hidden ref for recovery.</p>
      <LossList losses={losses} />
    </>
  );
}
