/** Shows how far the work in a worktree is from being finished, and offers the next steps, from commit to cleanup. */
import { useQuery } from "@tanstack/react-query";
import {
  ArrowDownToLine,
  Brush,
  GitCommitHorizontal,
  GitMerge,
  GitPullRequest,
  Undo2,
  Upload,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import { finishQuery, useChecks, useMay } from "@/api/queries";
import type { FinishState } from "@/api/types";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Badge } from "@/ui/labels/Badge";
import { RunBadges } from "@/views/runs/RunBadges";
import { ChecksBadge } from "./ChecksBadge";
import { ChecksDialog } from "./ChecksDialog";
import { CleanUpDialog } from "./CleanUpDialog";
import css from "./FinishBar.module.css";
import { FinishDialog, type FinishVerb } from "./FinishDialog";
import { PullRequestDialog } from "./PullRequestDialog";

/** Says in a few words what is not finished yet. */
export function finishWords(state: FinishState): string[] {
  const words = [state.filesTotal ? `${plural(state.filesTotal, "file")} changed` : "No uncommitted files"];
  if (state.ahead !== null && state.base) {
    words.push(`${state.ahead} ahead, ${state.behind} behind ${state.base}`);
  }
  if (state.remote.ahead) words.push(`${state.remote.ahead} to push`);
  return words;
}

/** A step in a dialog of its own, or one of those that share a dialog. */
type Verb = FinishVerb | "pullRequest" | "clean" | "checks";

interface Step {
  verb: Verb;
  label: string;
  icon: ReactNode;
  /** Whether there is something to do. */
  open: boolean;
}

function steps(state: FinishState): Step[] {
  const idle = state.unfinished === null;
  const list: Step[] = [
    {
      verb: "commit",
      label: "Commit…",
      icon: <GitCommitHorizontal />,
      open: state.filesTotal > 0 || state.unfinished === "merge",
    },
    {
      verb: "update",
      label: "Update from base…",
      icon: <ArrowDownToLine />,
      open: idle && state.base !== null && state.branch !== null,
    },
    {
      verb: "merge",
      label: "Merge…",
      icon: <GitMerge />,
      open: idle && (state.ahead ?? 0) > 0 && !state.merged,
    },
  ];
  if (state.remote.name) {
    list.push({ verb: "push", label: "Push…", icon: <Upload />, open: idle && state.branch !== null });
    list.push({
      verb: "pullRequest",
      label: "Pull request…",
      icon: <GitPullRequest />,
      open: idle && state.branch !== null && (state.ahead ?? 0) > 0,
    });
  }
  if (state.lastMerge) list.push({ verb: "undo", label: "Undo merge…", icon: <Undo2 />, open: true });
  return list;
}

export function FinishBar({ worktreeId }: { worktreeId: string }) {
  const state = useQuery(finishQuery(worktreeId)).data;
  const checks = useChecks(worktreeId);
  const mayWork = useMay("operator");
  const [verb, setVerb] = useState<Verb | null>(null);
  if (!state) return null;
  return (
    <section className={css.bar} aria-label="Finish">
      <p className={css.words}>
        {state.conflicts.length > 0 && (
          <Badge tone="failed">{plural(state.conflicts.length, "conflict")}</Badge>
        )}
        {state.unfinished && state.conflicts.length === 0 && (
          <Badge tone="waiting">{state.unfinished} in progress</Badge>
        )}
        {state.merged && <Badge tone="done">Merged</Badge>}
        {checks && (
          <button type="button" className={css.checks} onClick={() => setVerb("checks")}>
            <ChecksBadge request={checks} />
          </button>
        )}
        <RunBadges worktreeId={worktreeId} />
        {state.overlaps.map((overlap) => (
          <Badge key={overlap.worktreeId} tone="waiting" title={overlap.files.join("\n")}>
            {plural(overlap.filesTotal, "file")} also changed in {overlap.name}
          </Badge>
        ))}
        {state.cleanupError && (
          <Badge tone="failed" title={state.cleanupError}>
            Cleanup not completed
          </Badge>
        )}
        <span>{finishWords(state).join(" · ")}</span>
      </p>
      {mayWork && (
        <div className={css.steps}>
          {steps(state).map((step) => (
            <Button
              key={step.verb}
              size="small"
              variant="quiet"
              icon={step.icon}
              disabled={!step.open}
              onClick={() => setVerb(step.verb)}
            >
              {step.label}
            </Button>
          ))}
          {(state.merged || state.mergedInto !== null || checks?.state === "merged") && (
            <Button size="small" variant="quiet" icon={<Brush />} onClick={() => setVerb("clean")}>
              Clean up…
            </Button>
          )}
        </div>
      )}
      {verb && verb !== "clean" && verb !== "pullRequest" && verb !== "checks" && (
        <FinishDialog verb={verb} state={state} onClose={() => setVerb(null)} />
      )}
      {verb === "pullRequest" && <PullRequestDialog state={state} onClose={() => setVerb(null)} />}
      {verb === "clean" && <CleanUpDialog state={state} onClose={() => setVerb(null)} />}
      {verb === "checks" && checks && <ChecksDialog request={checks} onClose={() => setVerb(null)} />}
    </section>
  );
}
