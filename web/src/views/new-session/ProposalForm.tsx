/** The form for a proposed session: approve, approve with changes, or deny. */
import { Fragment, useState } from "react";
import { useLocation } from "wouter";
import { answerApproval } from "@/api/actions";
import { ApiError } from "@/api/client";
import { approvalQuery, client } from "@/api/queries";
import type { Approval, Repo, Session, Worktree } from "@/api/types";
import { routes } from "@/app/routes";
import { Button } from "@/ui/controls/Button";
import { Field, Input } from "@/ui/controls/Field";
import { toast } from "@/ui/feedback/toast";
import { focusOnce } from "@/views/forms/layout/focusOnce";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import type { Draft } from "@/views/forms/state/draft";
import css from "./NewSession.module.css";
import { type Proposal, writeProposal } from "./proposal";
import { SessionFields } from "./SessionFields";

export function ProposalForm({
  approval,
  session,
  proposal,
  repos,
  worktrees,
}: {
  approval: Approval;
  session: Session;
  proposal: Proposal;
  repos: Repo[];
  worktrees: Worktree[];
}) {
  const [, navigate] = useLocation();
  // The proposal stays fixed while the form is open.
  const [before] = useState(proposal);
  const [draft, setDraft] = useState<Draft>(before.draft);
  const [repoId, setRepoId] = useState(before.repoId);
  const [denying, setDenying] = useState(false);
  const [because, setBecause] = useState("");
  const set = (change: Partial<Draft>) => setDraft((known) => ({ ...known, ...change }));
  const changed = writeProposal(before, draft, repoId, { repos, worktrees });

  const answer = async (body: Parameters<typeof answerApproval>[1]) => {
    try {
      return await answerApproval(approval.id, body);
    } catch (error) {
      // Somebody else decided first; the view shows that.
      if (error instanceof ApiError && error.code === "approval_decided")
        await client.invalidateQueries({ queryKey: approvalQuery(approval.id).queryKey });
      throw error;
    }
  };
  const leave = (message: string) => {
    toast(message);
    navigate(routes.session(session.id));
  };
  const approving = useSubmit(
    () => answer({ decision: "allow", ...(changed && { arguments: changed }) }),
    () => leave(changed ? "Approved with your changes." : "Approved."),
  );
  const denial = useSubmit(
    () => answer({ decision: "deny", because: because.trim() || undefined }),
    () => leave("Denied."),
    [],
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (denying) denial.submit();
        else approving.submit();
      }}
    >
      <SubmitKeys onSubmit={denying ? denial.submit : approving.submit} className={css.columns}>
        <SessionFields
          draft={draft}
          set={set}
          of={approving}
          repos={repos}
          repoId={repoId}
          onRepo={(next) => {
            setRepoId(next);
            set({ directory: { kind: "own" } });
          }}
          directories={before.fields.directories}
          proposal={before.fields}
          from={session}
        />
      </SubmitKeys>
      <div className={css.bar}>
        <FormProblem of={denying ? denial : approving} />
        {denying && (
          <Field label="Reason" hint="Optional. Sent to the agent.">
            <Input value={because} onChange={(event) => setBecause(event.target.value)} ref={focusOnce} />
          </Field>
        )}
        <div className={css.buttons}>
          {/* Keys keep the clicked button from turning into the submit button. */}
          {denying ? (
            <Fragment key="denying">
              <Button onClick={() => setDenying(false)}>Back</Button>
              <Button type="submit" variant="danger" busy={denial.busy}>
                Deny
              </Button>
            </Fragment>
          ) : (
            <Fragment key="answering">
              {changed && (
                <Button
                  variant="quiet"
                  onClick={() => {
                    setDraft(before.draft);
                    setRepoId(before.repoId);
                  }}
                >
                  Reset
                </Button>
              )}
              <Button disabled={approving.busy} onClick={() => setDenying(true)}>
                Deny
              </Button>
              <Button type="submit" variant="primary" busy={approving.busy}>
                {changed ? "Approve with changes" : "Approve"}
              </Button>
            </Fragment>
          )}
        </div>
      </div>
    </form>
  );
}
