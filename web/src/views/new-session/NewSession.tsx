/** The view of a new session: an empty form, or one that an agent has filled in. */
import { useSearch } from "wouter";
import { useAgents, useRepos, useWorktrees } from "@/api/queries";
import { Problem, Skeleton } from "@/ui/feedback/Placeholders";
import css from "./NewSession.module.css";
import { NewForm } from "./NewSessionForm";
import { Proposed } from "./ProposedSession";

export default function New() {
  const asked = new URLSearchParams(useSearch());
  const approvalId = asked.get("approval");
  const repos = useRepos();
  const worktrees = useWorktrees();
  const agents = useAgents();
  const failed = [repos, worktrees, agents].find((one) => one.error && !one.data);
  if (failed)
    return (
      <div className={css.view}>
        <h1>New session</h1>
        <Problem error={failed.error} retry={() => void failed.refetch()} />
      </div>
    );
  if (!repos.data || !worktrees.data || !agents.data)
    return (
      <div className={css.view}>
        <h1>New session</h1>
        <Skeleton lines={6} block />
      </div>
    );
  const known = { repos: repos.data, worktrees: worktrees.data };
  if (approvalId) return <Proposed key={approvalId} approvalId={approvalId} {...known} />;
  return (
    <NewForm
      key={`${asked.get("repo")} ${asked.get("worktree")}`}
      repo={asked.get("repo")}
      worktree={asked.get("worktree")}
      agents={agents.data}
      {...known}
    />
  );
}
