/** The view for a new session: an empty form, or one that an agent filled in. */
import { useSearch } from "wouter";
import { useAgents, useRepos, useWorktrees } from "@/api/queries";
import { Problem, Skeleton } from "@/ui/feedback/Placeholders";
import css from "./NewSession.module.css";
import { NewSessionForm } from "./NewSessionForm";
import { ProposedSession } from "./ProposedSession";

export default function NewSession() {
  const search = new URLSearchParams(useSearch());
  const approvalId = search.get("approval");
  const repos = useRepos();
  const worktrees = useWorktrees();
  const agents = useAgents();
  const failed = [repos, worktrees, agents].find((query) => query.error && !query.data);
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
  const known = { repos: repos.data, worktrees: worktrees.data, agents: agents.data };
  if (approvalId) return <ProposedSession key={approvalId} approvalId={approvalId} {...known} />;
  return (
    <NewSessionForm
      key={`${search.get("repo")} ${search.get("worktree")}`}
      repo={search.get("repo")}
      worktree={search.get("worktree")}
      {...known}
    />
  );
}
