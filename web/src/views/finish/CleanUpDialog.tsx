/** Cleans up a worktree after its work is finished: shows which sessions end, what is removed and what stays. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { finishWork, runRequest } from "@/api/actions";
import { finishPreviewQuery } from "@/api/queries";
import type { FinishState } from "@/api/types";
import { withoutFields } from "@/lib/refusals";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import css from "./FinishDialog.module.css";

export function CleanUpDialog({ state, onClose }: { state: FinishState; onClose: () => void }) {
  const client = useQueryClient();
  const [keepBranch, setKeepBranch] = useState(false);
  const [force, setForce] = useState(false);
  const [busy, setBusy] = useState(false);
  const [seen] = useState({ expectedHead: state.sha, expectedBranch: state.branch ?? "" });
  const request = { verb: "cleanup" as const, body: { ...seen, keepBranch, force } };
  const preview = useQuery(finishPreviewQuery(state.worktreeId, request));
  const refusal = preview.data?.refusal ?? null;
  const isReady = preview.data !== undefined && refusal === null && !preview.isFetching;
  const cleanUp = async () => {
    setBusy(true);
    const done = await runRequest(() => finishWork(state.worktreeId, request, false));
    setBusy(false);
    if (!done) return void preview.refetch();
    void client.invalidateQueries({ queryKey: ["finish", state.worktreeId] });
    toast("Cleaned up.");
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => isReady && void cleanUp()}
      title={`Clean up ${state.branch ?? "this worktree"}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant={force ? "danger" : "primary"} busy={busy} disabled={!isReady}>
            Clean up
          </Button>
        </>
      }
    >
      {state.branch && <Switch label="Keep the branch" checked={keepBranch} onChange={setKeepBranch} />}
      {(refusal || force) && (
        <Switch
          label="Clean up anyway"
          hint="Stops turns, and removes work that is not committed or merged. It can be recovered."
          checked={force}
          onChange={setForce}
        />
      )}
      <section className={css.preview} aria-label="Preview" aria-live="polite">
        <QueryResult query={preview}>
          {({ refusal: reason, steps = [] }) =>
            reason ? (
              <p className={css.refused}>{withoutFields(reason.message)}</p>
            ) : (
              <ul className={css.steps}>
                {steps.map((step) => (
                  <li key={step}>{step}</li>
                ))}
              </ul>
            )
          }
        </QueryResult>
      </section>
    </Dialog>
  );
}
