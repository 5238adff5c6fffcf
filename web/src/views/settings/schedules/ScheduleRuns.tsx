/** The history of a schedule: its runs, newest first, each with the session that it prompted. */
import { Link } from "wouter";
import { useScheduleRuns } from "@/api/queries";
import type { ScheduleRun } from "@/api/types";
import { routes } from "@/app/routes";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { Badge, type Tone } from "@/ui/labels/Badge";
import css from "../Settings.module.css";

const TONES: Record<ScheduleRun["status"], Tone> = {
  starting: "running",
  started: "done",
  skipped: "plain",
  failed: "failed",
};
const NAMES: Record<ScheduleRun["status"], string> = {
  starting: "Starting",
  started: "Started",
  skipped: "Skipped",
  failed: "Failed",
};

export function RunLine({ run }: { run: ScheduleRun }) {
  const reasons = [run.reason, run.missed > 0 && `${run.missed} earlier times were missed.`].filter(Boolean);
  return (
    <p className={css.soft}>
      <Badge tone={TONES[run.status]}>{NAMES[run.status]}</Badge>{" "}
      <time dateTime={run.slot}>{new Date(run.slot).toLocaleString()}</time>
      {run.sessionId && (
        <>
          {" · "}
          <Link href={routes.session(run.sessionId)}>Open session</Link>
        </>
      )}
      {reasons.length > 0 && ` · ${reasons.join(" ")}`}
    </p>
  );
}

export function ScheduleRuns({ scheduleId }: { scheduleId: string }) {
  return (
    <QueryResult query={useScheduleRuns(scheduleId)}>
      {(runs) => (
        <ul className={css.list} aria-label="Runs">
          {runs.map((run) => (
            <li key={run.id}>
              <RunLine run={run} />
            </li>
          ))}
        </ul>
      )}
    </QueryResult>
  );
}
