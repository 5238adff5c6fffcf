/** What a repository's own files say about its worktrees, with a person's decision about it. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { patchRepoConfig, runRequest } from "@/api/actions";
import { useMay, useRepoConfig } from "@/api/queries";
import type { Repo, RepoConfig } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { QueryResult } from "@/ui/feedback/Placeholders";
import css from "./Worktree.module.css";

const problemText = ({ file, line, message }: RepoConfig["problems"][number]) =>
  `${file}${line ? `, line ${line}` : ""}: ${message}`;

/** Points out problems of the files, and what nobody has decided about. */
export function RepoConfigNotice({ repo }: { repo: Repo }) {
  const [open, setOpen] = useState(false);
  const config = useRepoConfig(repo.id, null, repo.kind === "git").data;
  if (!config || (!config.files.length && !config.problems.length)) return null;
  return (
    <div className={css.row}>
      <p className={config.problems.length ? css.failed : css.soft}>
        {config.problems[0]
          ? problemText(config.problems[0])
          : config.decision === "undecided"
            ? `${config.files.join(" and ")} would run or copy something in new worktrees. Bough does neither until you allow it.`
            : `Has ${config.files.join(" and ")}.`}
      </p>
      <Button size="small" onClick={() => setOpen(true)}>
        {config.decision === "undecided" ? "Review" : "Show"}
      </Button>
      {open && (
        <Dialog open onClose={() => setOpen(false)} title={`Files of ${repo.name}`}>
          <RepoConfigView repoId={repo.id} worktreeId={null} />
        </Dialog>
      )}
    </div>
  );
}

/** The files' entries and problems, and the buttons that decide. */
export function RepoConfigView({ repoId, worktreeId }: { repoId: string; worktreeId: string | null }) {
  const client = useQueryClient();
  const mayDecide = useMay("admin");
  const [busy, setBusy] = useState(false);
  const query = useRepoConfig(repoId, worktreeId, true);
  const decide = async (digest: string, allowed: boolean) => {
    setBusy(true);
    await runRequest(() => patchRepoConfig(repoId, { digest, allowed, worktreeId }));
    await client.invalidateQueries({ queryKey: ["repoConfig"] });
    setBusy(false);
  };
  return (
    <QueryResult query={query}>
      {(config) => (
        <section className={css.config} aria-label="Files of the repository">
          {config.problems.length > 0 && (
            <ul className={css.failed}>
              {config.problems.map((problem) => (
                <li key={problemText(problem)}>{problemText(problem)}</li>
              ))}
            </ul>
          )}
          <Entry name="Setup commands" lines={config.setup} />
          <Entry name="Copied files" lines={config.copies} />
          <Entry name="Run commands" lines={config.run.map(({ name, command }) => `${name}: ${command}`)} />
          <p className={css.soft}>
            {[
              config.preset && `Preset: ${config.preset}.`,
              config.agent && `Agent: ${config.agent}.`,
              config.mode && `Mode: ${config.mode}, if that grants no more than usual.`,
              `Ports: ${config.ports}.`,
            ]
              .filter(Boolean)
              .join(" ")}
          </p>
          {config.digest && (
            <div className={css.row}>
              <p className={css.soft}>
                {config.decision === "allowed"
                  ? "Allowed. You are asked again when the files change."
                  : config.decision === "denied"
                    ? "Forbidden. Nothing of it runs or is copied."
                    : "Nobody has decided. Nothing of it runs or is copied."}
              </p>
              {mayDecide && config.decision !== "denied" && (
                <Button size="small" busy={busy} onClick={() => void decide(config.digest!, false)}>
                  Forbid
                </Button>
              )}
              {mayDecide && config.decision !== "allowed" && (
                <Button
                  size="small"
                  variant="primary"
                  busy={busy}
                  onClick={() => void decide(config.digest!, true)}
                >
                  Allow
                </Button>
              )}
            </div>
          )}
        </section>
      )}
    </QueryResult>
  );
}

function Entry({ name, lines }: { name: string; lines: string[] }) {
  if (!lines.length) return null;
  return (
    <div>
      <h3 className={css.heading}>{name}</h3>
      <pre className={css.commands}>{lines.join("\n")}</pre>
    </div>
  );
}
