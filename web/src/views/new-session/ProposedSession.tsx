/** A session that an agent proposes: its form, filled in. It is approved as it is or with changes, or denied with a reason. */
import { useQuery } from "@tanstack/react-query";
import { Bot } from "lucide-react";
import { useEffect } from "react";
import { Link } from "wouter";
import { approvalQuery, sessionQuery, useApprovals } from "@/api/queries";
import type { Approval, Repo, Worktree } from "@/api/types";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { nameOf } from "@/lib/words";
import { ButtonLink } from "@/ui/controls/Button";
import { Empty, Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { Time } from "@/ui/labels/Time";
import { proposalOf } from "@/views/approvals/proposedCall";
import css from "./NewSession.module.css";
import { ProposalForm } from "./ProposalForm";
import { proposed, readProposal } from "./proposal";

export function Proposed({
  approvalId,
  repos,
  worktrees,
}: {
  approvalId: string;
  repos: Repo[];
  worktrees: Worktree[];
}) {
  useTitle("Proposed session");
  const asked = useQuery(approvalQuery(approvalId));
  const { refetch } = asked;
  const pending = useApprovals().data?.some((one) => one.id === approvalId);
  // Somebody else may answer it while this form is open.
  useEffect(() => {
    if (pending === false) void refetch();
  }, [pending, refetch]);
  const { tool, arguments: given } = asked.data ? proposalOf(asked.data) : { tool: "", arguments: {} };
  const about = useQuery({
    ...sessionQuery(asked.data?.sessionId ?? ""),
    enabled: asked.data !== undefined,
  });
  const targetId = tool === "agor_sessions_prompt" ? String(given.sessionId ?? "") : "";
  const target = useQuery({ ...sessionQuery(targetId), enabled: targetId !== "" });
  const error = asked.error ?? about.error;
  const waits = !asked.data || !about.data || (targetId !== "" && target.isLoading);
  if (error || waits)
    return (
      <div className={css.view}>
        <h1>Proposed session</h1>
        {error ? <Problem error={error} retry={() => void refetch()} /> : <Skeleton lines={6} block />}
      </div>
    );
  const approval = asked.data;
  const session = about.data;
  const proposal = readProposal(tool, given, { session, target: target.data, repos, worktrees });
  return (
    <div className={css.view}>
      <header>
        <h1>Proposed session</h1>
      </header>
      <p className={css.banner}>
        <Bot aria-hidden />
        <span>
          <Link href={routes.session(session.id)}>{nameOf(session)}</Link> ({session.agent}){" "}
          {proposed(tool, given, nameOf(target.data ?? session))}.{" "}
          <span className={css.about}>
            {approval.reason} <Time at={approval.createdAt} />
          </span>
        </span>
      </p>
      {approval.status !== "pending" ? (
        <Answered approval={approval} />
      ) : proposal ? (
        <ProposalForm
          approval={approval}
          session={session}
          proposal={proposal}
          repos={repos}
          worktrees={worktrees}
        />
      ) : (
        <Empty
          title="This is no new session"
          actions={<ButtonLink href={routes.session(session.id)}>Answer it in its session</ButtonLink>}
        >
          {approval.title}
        </Empty>
      )}
    </div>
  );
}

const HOW: Record<Approval["status"], string> = {
  pending: "It waits for an answer.",
  allowed: "It was approved.",
  denied: "It was denied.",
  cancelled: "It is not asked any more: the turn that asked has ended.",
  expired: "Nobody answered in time.",
};

function Answered({ approval }: { approval: Approval }) {
  const by = approval.decidedBy as { kind?: string; because?: string } | null;
  return (
    <Empty
      title="This was answered meanwhile"
      actions={
        <>
          <ButtonLink href={routes.session(approval.sessionId)} look="primary">
            Open the session that asked
          </ButtonLink>
          <ButtonLink href={routes.home}>Go home</ButtonLink>
        </>
      }
    >
      {HOW[approval.status]} {by?.because} {approval.decidedAt && <Time at={approval.decidedAt} />}
    </Empty>
  );
}
