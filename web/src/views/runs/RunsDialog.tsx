/** Runs commands in one worktree: those that the repository names, or one that an admin types. Shows the log of one. */
import { ExternalLink, Eye, Play, Square } from "lucide-react";
import { useState } from "react";
import { runRequest, startRun, stopRun } from "@/api/actions";
import { useMay, useRepoConfig, useRuns } from "@/api/queries";
import type { RepoConfig, Run } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { Badge } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import { RepoConfigView } from "@/views/worktree/RepoConfigView";
import { RunLog } from "./RunLog";
import { RunPreview } from "./RunPreview";
import css from "./Runs.module.css";
import { isLocal, runLink, runName, runState } from "./runs";

interface Props {
  name: string;
  worktreeId: string;
  repoId: string;
  onClose: () => void;
}

export function RunsDialog({ name, worktreeId, repoId, onClose }: Props) {
  const runs = useRuns(worktreeId);
  const config = useRepoConfig(repoId, worktreeId, true);
  const mayRun = useMay("operator");
  const [isPreviewing, setPreviewing] = useState(false);
  const [chosenId, setChosenId] = useState<string | null>(null);
  const chosen =
    runs.find(({ id }) => id === chosenId) ??
    runs.findLast(({ state }) => state === "running") ??
    runs.at(-1);
  const start = async (body: Parameters<typeof startRun>[1]) => {
    let started: Run | undefined;
    await runRequest(async () => {
      started = await startRun(worktreeId, body);
    });
    if (started) setChosenId(started.id);
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={`Run in ${name}`}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <div className={css.parts}>
        <QueryResult query={config}>
          {(report) => <Commands report={report} runs={runs} start={start} choose={setChosenId} />}
        </QueryResult>
        <TypedCommand start={(command) => start({ command })} />
        {runs.length > 0 && (
          <section aria-label="What ran here">
            <h3 className={css.heading}>What ran here</h3>
            <ul className={css.runs}>
              {runs.toReversed().map((run) => (
                <li key={run.id} className={css.run}>
                  <button
                    type="button"
                    className={css.choose}
                    aria-pressed={run.id === chosen?.id}
                    onClick={() => setChosenId(run.id)}
                  >
                    <code className={css.name}>{runName(run)}</code>
                    <Badge tone={run.state === "running" ? "running" : run.code ? "failed" : "plain"}>
                      {runState(run)}
                    </Badge>
                  </button>
                  <span className={css.soft}>
                    {run.startedBy}, <Time at={run.createdAt} />
                  </span>
                  <RunButtons run={run} />
                </li>
              ))}
            </ul>
          </section>
        )}
        {chosen && isLocal() && mayRun && chosen.answers && (
          <Button
            size="small"
            className={css.toggle}
            aria-pressed={isPreviewing}
            icon={<Eye />}
            onClick={() => setPreviewing(!isPreviewing)}
          >
            Preview {chosen.name ?? ""}
          </Button>
        )}
        {chosen && isPreviewing && isLocal() && mayRun && chosen.answers && (
          <RunPreview key={`preview ${chosen.id}`} run={chosen} />
        )}
        {chosen && <RunLog key={chosen.id} run={chosen} />}
      </div>
    </Dialog>
  );
}

function RunButtons({ run }: { run: Run }) {
  const mayRun = useMay("operator");
  const [busy, setBusy] = useState(false);
  const link = isLocal() ? runLink(run) : null;
  const stop = async () => {
    setBusy(true);
    await runRequest(() => stopRun(run.id));
    setBusy(false);
  };
  return (
    <>
      {link && (
        <a className={css.link} href={link} target="_blank" rel="noopener noreferrer">
          <ExternalLink aria-hidden /> Open localhost:{run.port}
        </a>
      )}
      {mayRun && run.state === "running" && (
        <Button size="small" icon={<Square />} busy={busy} onClick={() => void stop()}>
          Stop {run.name ?? ""}
        </Button>
      )}
    </>
  );
}

function Commands({
  report,
  runs,
  start,
  choose,
}: {
  report: RepoConfig;
  runs: Run[];
  start: (body: { name: string; expectedCommand: string }) => Promise<void>;
  choose: (id: string) => void;
}) {
  const mayRun = useMay("operator");
  const [busy, setBusy] = useState<string | null>(null);
  if (!report.run.length)
    return (
      <p className={css.soft}>
        Name commands in the table <code>[run]</code> of this repository's <code>.bough.toml</code>, such as{" "}
        <code>dev = "npm run dev"</code>, to start them here with one click.
      </p>
    );
  if (report.decision !== "allowed")
    return <RepoConfigView repoId={report.repoId} worktreeId={report.worktreeId} />;
  return (
    <ul className={css.commands}>
      {report.run.map(({ name, command }) => {
        const running = runs.find((run) => run.name === name && run.state === "running");
        return (
          <li key={name} className={css.command}>
            {running ? (
              <Button onClick={() => choose(running.id)}>Show {name}</Button>
            ) : (
              <Button
                variant="primary"
                icon={<Play />}
                disabled={!mayRun}
                busy={busy === name}
                onClick={async () => {
                  setBusy(name);
                  await start({ name, expectedCommand: command });
                  setBusy(null);
                }}
              >
                Run {name}
              </Button>
            )}
            <code className={css.text}>{command}</code>
          </li>
        );
      })}
    </ul>
  );
}

function TypedCommand({ start }: { start: (command: string) => Promise<void> }) {
  const mayType = useMay("admin");
  const [command, setCommand] = useState("");
  const [busy, setBusy] = useState(false);
  if (!mayType) return null;
  const submit = async () => {
    setBusy(true);
    await start(command);
    setBusy(false);
  };
  return (
    <form
      className={css.typed}
      onSubmit={(event) => {
        event.preventDefault();
        if (command.trim() && !busy) void submit();
      }}
    >
      <Field
        label="Another command"
        hint="Runs as the user of the server, without a sandbox. Serve at $PORT."
      >
        <Input value={command} spellCheck={false} onChange={(event) => setCommand(event.target.value)} />
      </Field>
      <Button type="submit" busy={busy} disabled={!command.trim()}>
        Run
      </Button>
    </form>
  );
}
