/** Lists the checks and review threads of a worktree's pull request, and sends failures to its session. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { patchChecks, refreshChecks, runRequest, sendChecks } from "@/api/actions";
import { requestQuery, useMay } from "@/api/queries";
import type { PullRequestChecks } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Switch } from "@/ui/controls/Field";
import { toast } from "@/ui/feedback/toast";
import { Badge, type Tone } from "@/ui/labels/Badge";
import { checksWords } from "./ChecksBadge";
import css from "./FinishDialog.module.css";

type Status = PullRequestChecks["checks"][number]["status"];
const TONES: Record<Status, Tone> = {
  failed: "failed",
  pending: "running",
  passed: "done",
  skipped: "plain",
};
const NAMES: Record<Status, string> = {
  failed: "Failed",
  pending: "Pending",
  passed: "Passed",
  skipped: "Skipped",
};

export function ChecksDialog({ request, onClose }: { request: PullRequestChecks; onClose: () => void }) {
  const client = useQueryClient();
  const mayWork = useMay("operator");
  const [busy, setBusy] = useState<"refresh" | "send" | "rule" | null>(null);
  const run = async (what: "refresh" | "send" | "rule", work: () => Promise<unknown>, words?: string) => {
    setBusy(what);
    const done = await runRequest(work);
    setBusy(null);
    void client.invalidateQueries({ queryKey: ["checks"] });
    if (done && words) toast(words);
  };
  const id = request.worktreeId;
  const { checks, threads } = useQuery(requestQuery(id)).data ?? request;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Pull request ${request.number}`}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          {mayWork && (
            <Button busy={busy === "refresh"} onClick={() => void run("refresh", () => refreshChecks(id))}>
              Refresh
            </Button>
          )}
          {mayWork && request.unsent > 0 && !request.needsPerson && (
            <Button
              variant="primary"
              busy={busy === "send"}
              onClick={() => void run("send", () => sendChecks(id), "Sent to the session.")}
            >
              Send to the session
            </Button>
          )}
        </>
      }
    >
      <p>
        <a href={request.url} target="_blank" rel="noreferrer noopener">
          {request.url}
        </a>{" "}
        <span className={css.soft}>{checksWords(request)}</span>
      </p>
      {request.error && <p className={css.soft}>{request.error}</p>}
      {request.needsPerson && (
        <p className={css.refused}>
          {request.mostPrompts} prompts about it were sent, and something is still open. Please look yourself.
        </p>
      )}
      <ul className={css.checks} aria-label="Checks">
        {checks.map((check) => (
          <li key={check.id}>
            <Badge tone={TONES[check.status]}>{NAMES[check.status]}</Badge>{" "}
            {check.url ? (
              <a href={check.url} target="_blank" rel="noreferrer noopener">
                {check.name}
              </a>
            ) : (
              check.name
            )}
          </li>
        ))}
        {checks.length === 0 && <li className={css.soft}>No checks are known for its last commit.</li>}
      </ul>
      {threads.length > 0 && (
        <ul className={css.checks} aria-label="Review threads">
          {threads.map((thread) => (
            <li key={thread.id}>
              <span className={css.soft}>
                {thread.path}
                {thread.line ? `:${thread.line}` : ""}
              </span>
              {thread.comments.map((comment, index) => (
                // Comments have no ids, and a thread only grows.
                // biome-ignore lint/suspicious/noArrayIndexKey: see above
                <p key={index} className={css.comment}>
                  <span className={css.soft}>{comment.author}:</span> {comment.text}
                </p>
              ))}
            </li>
          ))}
        </ul>
      )}
      {mayWork && (
        <Switch
          label="Send new failures automatically"
          hint={`${request.prompts} of ${request.mostPrompts} prompts sent.`}
          checked={request.sends}
          onChange={(sends) => void run("rule", () => patchChecks(id, sends))}
        />
      )}
    </Dialog>
  );
}
