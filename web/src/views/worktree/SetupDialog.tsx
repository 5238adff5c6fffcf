/** The setup of one worktree: its errors and output, what its files ask for, and a repetition. */
import { useState } from "react";
import { runRequest, setUpWorktree } from "@/api/actions";
import { useMay } from "@/api/queries";
import type { Worktree } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { RepoConfigView } from "./RepoConfigView";
import css from "./Worktree.module.css";

export function SetupDialog({
  name,
  worktree,
  onClose,
}: {
  name: string;
  worktree: Worktree;
  onClose: () => void;
}) {
  const mayRun = useMay("operator");
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    await runRequest(() => setUpWorktree(worktree.id));
    setBusy(false);
  };
  const isRunning = worktree.status === "setting_up";
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Setup of ${name}`}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          {mayRun && (
            <Button variant="primary" busy={busy || isRunning} onClick={() => void run()}>
              Run setup again
            </Button>
          )}
        </>
      }
    >
      {worktree.setupError && <p className={css.failed}>{worktree.setupError}</p>}
      {worktree.setupOutput && <pre className={css.commands}>{worktree.setupOutput}</pre>}
      <RepoConfigView repoId={worktree.repoId} worktreeId={worktree.id} />
    </Dialog>
  );
}
