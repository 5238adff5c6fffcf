/** Renders a session's dialogs, of which at most one is open. */
import type { Session } from "@/api/types";
import { sessionName } from "@/lib/words";
import { DeleteDialog } from "@/views/forms/dialogs/DeleteDialog";
import { ForkDialog } from "@/views/forms/dialogs/ForkDialog";
import { RaceDialog } from "@/views/forms/dialogs/RaceDialog";
import { SideQuestionDialog } from "@/views/forms/dialogs/SideQuestionDialog";
import { SpawnDialog } from "@/views/forms/dialogs/SpawnDialog";
import { TerminalDialog } from "@/views/forms/dialogs/TerminalDialog";
import { RunsDialog } from "@/views/runs/RunsDialog";

export type SessionDialog = "fork" | "spawn" | "sideQuestion" | "race" | "terminal" | "run" | "delete";

export function SessionDialogs({
  session,
  openDialog,
  onClose,
}: {
  session: Session;
  openDialog: { dialog: SessionDialog; taskId?: string } | null;
  onClose: () => void;
}) {
  const props = (dialog: SessionDialog) => ({ session, open: openDialog?.dialog === dialog, onClose });
  return (
    <>
      <ForkDialog {...props("fork")} taskId={openDialog?.taskId} />
      <SpawnDialog {...props("spawn")} />
      <SideQuestionDialog {...props("sideQuestion")} />
      <RaceDialog {...props("race")} />
      <TerminalDialog {...props("terminal")} />
      {openDialog?.dialog === "run" && session.worktreeId && (
        <RunsDialog
          name={sessionName(session)}
          worktreeId={session.worktreeId}
          repoId={session.repoId}
          onClose={onClose}
        />
      )}
      <DeleteDialog {...props("delete")} />
    </>
  );
}
