/** Shows a session that an agent proposes, as a form to approve, change or deny. */
import { useQuery } from "@tanstack/react-query";
import { Bot } from "lucide-react";
import { useEffect } from "react";
import { Link } from "wouter";
import { approvalQuery, sessionQuery, useApprovals, usePresets } from "@/api/queries";
import type { Agent, Approval, Repo, Worktree } from "@/api/types";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { sessionName } from "@/lib/words";
import { ButtonLink } from "@/ui/controls/Button";
import { Empty, Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { Time } from "@/ui/labels/Time";
import { proposalOf } from "@/views/approvals/proposedCall";
import css from "./NewSession.module.css";
import { ProposalForm } from "./ProposalForm";
import { describeProposal, readProposal } from "./proposal";

export function ProposedSession({
  approvalId,
  repos,
  worktrees,
  agents,
}: {
  approvalId: string;
  repos: Repo[];
  worktrees: Worktree[];
  agents: Agent[];
}) {
  useTitle("Proposed session");
  const approvalResult = useQuery(approvalQuery(approvalId));
  const { refetch } = approvalResult;
  const pending = useApprovals().data?.some((other) => other.id === approvalId);
  // Somebody else may decide while this form is open.
  useEffect(() => {
    if (pending === false) void refetch();
  }, [pending, refetch]);
  const { tool, arguments: args } = approvalResult.data
    ? proposalOf(approvalResult.data)
    : { tool: "", arguments: {} };
  const sessionResult = useQuery({
    ...sessionQuery(approvalResult.data?.sessionId ?? ""),
    enabled: approvalResult.data !== undefined,
  });
  const presets = usePresets();
  const targetId = tool === "agor_sessions_prompt" ? String(args.sessionId ?? "") : "";
  const target = useQuery({ ...sessionQuery(targetId), enabled: targetId !== "" });
  const error = approvalResult.error ?? sessionResult.error;
  const loading =
    !approvalResult.data || presets.isLoading || !sessionResult.data || (targetId !== "" && target.isLoading);
  if (error || loading)
    return (
      <div className={css.view}>
        <h1>Proposed session</h1>
        {error ? <Problem error={error} retry={() => void refetch()} /> : <Skeleton lines={6} block />}
      </div>
    );
  const approval = approvalResult.data;
  const session = sessionResult.data;
  const proposal = readProposal(tool, args, {
    session,
    target: target.data,
    repos,
    worktrees,
    agents,
    presets: presets.data,
  });
  return (
    <div className={css.view}>
      <header>
        <h1>Proposed session</h1>
      </header>
      <p className={css.banner}>
        <Bot aria-hidden />
        <span>
          <Link href={routes.session(session.id)}>{sessionName(session)}</Link> ({session.agent}){" "}
          {describeProposal(tool, args, sessionName(target.data ?? session))}.{" "}
          <span className={css.about}>
            {approval.reason} <Time at={approval.createdAt} />
          </span>
        </span>
      </p>
      {approval.status !== "pending" ? (
        <Decided approval={approval} />
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
          title="This approval is not about a new session"
          actions={<ButtonLink href={routes.session(session.id)}>Open session</ButtonLink>}
        >
          {approval.title}
        </Empty>
      )}
    </div>
  );
}

const OUTCOMES: Record<Approval["status"], string> = {
  pending: "Not decided yet.",
  allowed: "Approved.",
  denied: "Denied.",
  cancelled: "Withdrawn because the turn ended.",
  expired: "Expired without an answer.",
};

function Decided({ approval }: { approval: Approval }) {
  const by = approval.decidedBy as { kind?: string; because?: string } | null;
  return (
    <Empty
      title="Already decided"
      actions={
        <>
          <ButtonLink href={routes.session(approval.sessionId)} variant="primary">
            Open session
          </ButtonLink>
          <ButtonLink href={routes.home}>Home</ButtonLink>
        </>
      }
    >
      {OUTCOMES[approval.status]} {by?.because} {approval.decidedAt && <Time at={approval.decidedAt} />}
    </Empty>
  );
}
