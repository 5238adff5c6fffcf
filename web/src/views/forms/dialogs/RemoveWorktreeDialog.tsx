/** Removes a worktree, after showing what would be lost with it. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { completeSession, removeWorktree, runRequest } from "@/api/actions";
import { client, lossesQuery, sessionsQuery } from "@/api/queries";
import type { Losses, Worktree } from "@/api/types";
import { routes } from "@/app/routes";
import { plural } from "@/lib/format";
import { sessionName } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import { LossList } from "@/views/forms/layout/LossList";
import css from "./RemoveWorktreeDialog.module.css";

/** The most sessions that the dialog names. */
const MOST_NAMED = 6;

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
  const used = losses.data !== undefined && isUsed(losses.data);
  const stays = losses.data === undefined || (!losses.data.removable && !lost && !used);
  const remove = async () => {
    setBusy(true);
    const done = await runRequest(async () => {
      if (used) await endSessions(worktree.id);
      await removeWorktree(worktree.id, { force: lost, branch: branch ? "delete" : "keep" });
    });
    setBusy(false);
    // Sessions may have ended although the worktree stays.
    if (!done) void losses.refetch();
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
            {removeLabel(losses.data, lost)}
          </Button>
        </>
      }
    >
      <QueryResult query={losses}>
        {(data) => (
          <>
            {isUsed(data) && <UsingSessions losses={data} />}
            <RemovalLosses losses={data} deletes={worktree.madeByBough} />
          </>
        )}
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

function removeLabel(losses: Losses | undefined, lost: boolean): string {
  const what = lost ? "remove worktree and changes" : "remove worktree";
  if (losses && isUsed(losses)) return `End ${plural(losses.counts.sessions, "session")} and ${what}`;
  return lost ? "Remove worktree and changes" : "Remove worktree";
}

/** Completes the active sessions in a worktree. Their running turns are stopped, their transcripts stay. */
async function endSessions(worktreeId: string): Promise<void> {
  // The list names some of the sessions at a time.
  for (;;) {
    const { sessions } = await client.fetchQuery({ ...lossesQuery(worktreeId), staleTime: 0 });
    if (!sessions.length) return;
    await Promise.all(sessions.map((sessionId) => completeSession(sessionId, { force: true })));
  }
}

/** Lists the sessions that would be ended, with those that are at work first. */
function UsingSessions({ losses }: { losses: Losses }) {
  const known = useQuery(sessionsQuery).data ?? [];
  const using = losses.sessions.map(
    (id) => known.find((session) => session.id === id) ?? { id, title: "", activity: "idle" as const },
  );
  const busy = using.filter(({ activity }) => activity === "running" || activity === "waiting_permission");
  return (
    <>
      <p className={busy.length ? css.warn : undefined}>
        {plural(losses.counts.sessions, "active session")} in this worktree will be ended
        {busy.length ? `; ${plural(busy.length, "turn")} will be stopped` : ""}. Transcripts stay.
      </p>
      <ul className={css.using}>
        {[...new Set([...busy, ...using])].slice(0, MOST_NAMED).map((session) => (
          <li key={session.id}>
            <Link href={routes.session(session.id)}>{sessionName(session)}</Link>
          </li>
        ))}
        {losses.counts.sessions > MOST_NAMED && <li>and {losses.counts.sessions - MOST_NAMED} more</li>}
      </ul>
    </>
  );
}

/** Shows why the worktree cannot be removed, or the work that would be lost with it. */
function RemovalLosses({ losses, deletes }: { losses: Losses; deletes: boolean }) {
  if (!losing(losses) && !losses.removable && !isUsed(losses))
    return <p className={css.warn}>{losses.why}</p>;
  if (!deletes) return isUsed(losses) ? null : <p>{losses.why}</p>;
  if (!losing(losses)) return <p>Nothing will be lost: all work is committed and pushed.</p>;
  return (
    <>
      <p className={css.warn}>This work will be removed. Bough keeps it on a hidden ref for recovery.</p>
      <LossList losses={losses} />
    </>
  );
}
