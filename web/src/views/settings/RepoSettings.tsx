/** Settings of repositories: add, rename, configure new worktrees, remove. */
import { FolderGit2, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { patchRepo, patchRepoGit, removeRepo, runRequest } from "@/api/actions";
import { useMay, useRepoGit, useRepos } from "@/api/queries";
import type { Repo } from "@/api/types";
import { routes } from "@/app/routes";
import { Button, ButtonLink, IconButton } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, TextArea } from "@/ui/controls/Field";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { Badge } from "@/ui/labels/Badge";
import { nonEmptyLines } from "@/views/forms/state/draft";
import { RepoConfigNotice } from "@/views/worktree/RepoConfigView";
import { type GitChoice, GitSwitches, UndecidedGit } from "./RepoGitSettings";
import { RepoSandboxFields, sandboxOf } from "./RepoSandboxFields";
import css from "./Settings.module.css";
import { useSave } from "./useSave";

export function RepoSettings() {
  const [shown, setShown] = useState<Repo | null>(null);
  return (
    <>
      <div className={css.actions}>
        <ButtonLink href={routes.addRepo} variant="primary" icon={<Plus />}>
          Add repository
        </ButtonLink>
      </div>
      <QueryResult query={useRepos()}>
        {(repos) =>
          repos.length ? (
            <ul className={css.list}>
              {repos.map((repo) => (
                <li key={repo.id} className={css.card}>
                  <div className={css.row}>
                    <h2 className={`${css.grow} ${css.name}`}>{repo.name}</h2>
                    <Badge>{repo.kind === "git" ? (repo.defaultBranch ?? "git") : "plain folder"}</Badge>
                    <Button size="small" onClick={() => setShown(repo)}>
                      Edit
                    </Button>
                    <IconButton
                      label={`Remove ${repo.name}`}
                      size="small"
                      onClick={() => void runRequest(() => removeRepo(repo.id))}
                    >
                      <Trash2 />
                    </IconButton>
                  </div>
                  <p className={css.soft}>{repo.path}</p>
                  <UndecidedGit repo={repo} onDecide={() => setShown(repo)} />
                  <RepoConfigNotice repo={repo} />
                </li>
              ))}
            </ul>
          ) : (
            <Empty icon={<FolderGit2 />} title="No repositories yet">
              Choose one on the server's machine, or clone one.
            </Empty>
          )
        }
      </QueryResult>
      {shown && <RepoDialog repo={shown} onClose={() => setShown(null)} />}
    </>
  );
}

function RepoDialog({ repo, onClose }: { repo: Repo; onClose: () => void }) {
  const [name, setName] = useState(repo.name);
  const [setup, setSetup] = useState(repo.setup.join("\n"));
  const [copied, setCopied] = useState(repo.copyIgnored.join("\n"));
  const [sandbox, setSandbox] = useState(sandboxOf(repo));
  const [git, setGit] = useState<GitChoice>({});
  const undecided = useRepoGit(repo.id, repo.kind === "git").data?.undecided ?? [];
  const mayChangeRights = useMay("admin");
  const { busy, error, save } = useSave(async () => {
    const rights = {
      setup: nonEmptyLines(setup),
      copyIgnored: nonEmptyLines(copied),
      sandbox: sandbox.choice,
      sandboxProfile: sandbox.profile,
      sandboxHosts: nonEmptyLines(sandbox.hosts),
    };
    await patchRepo(repo.id, mayChangeRights ? { name, ...rights } : { name });
    // Saving the form answers the question, also without a change.
    const answer = { ...Object.fromEntries(undecided.map((kind) => [kind, false])), ...git };
    if (mayChangeRights && Object.keys(answer).length) await patchRepoGit(repo.id, answer);
  }, onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Edit ${repo.name}`}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy}>
            Save
          </Button>
        </>
      }
    >
      <Field label="Name" error={error}>
        <Input value={name} onChange={(event) => setName(event.target.value)} placeholder="Folder name" />
      </Field>
      {repo.kind === "git" && mayChangeRights && (
        <>
          <Field
            label="Setup commands for new worktrees"
            hint="One per line, run in the new folder, for example npm ci."
          >
            <TextArea value={setup} onChange={(event) => setSetup(event.target.value)} rows={3} />
          </Field>
          <Field
            label="Ignored files to copy"
            hint="One pattern per line, for example .env or config/*.local."
          >
            <TextArea value={copied} onChange={(event) => setCopied(event.target.value)} rows={2} />
          </Field>
          <GitSwitches repoId={repo.id} choice={git} onChange={setGit} />
        </>
      )}
      {mayChangeRights && <RepoSandboxFields value={sandbox} onChange={setSandbox} />}
    </Dialog>
  );
}
