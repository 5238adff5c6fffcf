/** What runs in a worktree, as badges; one that serves is a link. */
import { useRuns } from "@/api/queries";
import { Badge } from "@/ui/labels/Badge";
import css from "./Runs.module.css";
import { isLocal, runLink, runName } from "./runs";

const LONGEST = 24;

export function RunBadges({ worktreeId }: { worktreeId: string | undefined }) {
  const running = useRuns(worktreeId).filter(({ state }) => state === "running");
  return running.map((run) => {
    const link = isLocal() ? runLink(run) : null;
    const name = runName(run).slice(0, LONGEST);
    return link ? (
      <a
        key={run.id}
        href={link}
        target="_blank"
        rel="noopener noreferrer"
        className={`${css.badge} nodrag nopan`}
        title={`Open ${link}`}
      >
        {name} :{run.port}
      </a>
    ) : (
      <Badge key={run.id} tone="running" title={run.command}>
        {name}
      </Badge>
    );
  });
}
