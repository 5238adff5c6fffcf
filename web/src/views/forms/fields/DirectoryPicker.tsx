/** Chooses a session's working directory: the current session's, the repository's main folder, or a worktree. */
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { activeInRepoQuery, useRepos, useWorktrees, worktreeQuery } from "@/api/queries";
import type { Session, Worktree } from "@/api/types";
import { plural } from "@/lib/format";
import { sessionName } from "@/lib/words";
import { Badge } from "@/ui/labels/Badge";
import { Choice, Fold } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { NEW_WORKTREE, type WorkingDirectory } from "@/views/forms/state/draft";
import { NewWorktreeFields } from "./NewWorktreeFields";

export type DirectoryKind = WorkingDirectory["kind"];

const MOST_SHOWN = 6;

export function DirectoryPicker({
  repoId,
  value,
  onChange,
  offers,
  from,
  takesIgnored,
}: {
  repoId: string;
  value: WorkingDirectory;
  onChange: (directory: WorkingDirectory) => void;
  offers: readonly DirectoryKind[];
  /** The session that is forked or spawned from. */
  from?: Session;
  takesIgnored?: boolean;
}) {
  const name = useId();
  const repo = useRepos().data?.find((item) => item.id === repoId);
  const worktrees = (useWorktrees().data ?? []).filter(
    (item) => item.repoId === repoId && !item.removedAt && item.id !== from?.worktreeId,
  );
  const active = useQuery({ ...activeInRepoQuery(repoId), enabled: Boolean(repoId) }).data ?? [];
  const inOwn = active.filter((item) => item.worktreeId === null && item.id !== from?.id);
  const git = repo?.kind !== "plain";
  const chosen = value.kind === "worktree" ? value.worktreeId : null;
  const shown = worktrees.filter((worktree, at) => at < MOST_SHOWN || worktree.id === chosen);
  const rest = worktrees.filter((worktree) => !shown.includes(worktree));
  const row = (item: Worktree) => (
    <WorktreeRow
      key={item.id}
      worktree={item}
      name={name}
      checked={item.id === chosen}
      onChoose={() => onChange({ kind: "worktree", worktreeId: item.id })}
      there={active.filter((session) => session.worktreeId === item.id)}
    />
  );
  return (
    <>
      <div className={css.choices}>
        {offers.includes("same") && from && (
          <Choice
            name={name}
            checked={value.kind === "same"}
            onChoose={() => onChange({ kind: "same" })}
            title="Same folder"
          >
            <span className={css.mono}>{from.cwd}</span>
            <span>Both sessions share the files.</span>
          </Choice>
        )}
        {offers.includes("own") && (
          <Choice
            name={name}
            checked={value.kind === "own"}
            onChoose={() => onChange({ kind: "own" })}
            title="Main folder"
            marks={<ActiveSessions of={inOwn} />}
          >
            {repo && <span className={css.mono}>{repo.path}</span>}
          </Choice>
        )}
        {offers.includes("new") && git && (
          <Choice
            name={name}
            checked={value.kind === "new"}
            onChoose={() => onChange(value.kind === "new" ? value : NEW_WORKTREE)}
            title="New worktree"
          >
            <span>
              {from
                ? "A separate folder and branch that starts with this session's files, including uncommitted ones."
                : "A separate folder and branch."}
            </span>
          </Choice>
        )}
        {value.kind === "new" && git && (
          <NewWorktreeFields
            directory={value}
            onChange={onChange}
            repoId={repoId}
            branching={from !== undefined}
            bases={[repo?.defaultBranch ?? "main", ...worktrees.flatMap((worktree) => worktree.branch ?? [])]}
            takesIgnored={takesIgnored}
          />
        )}
        {offers.includes("worktree") && git && shown.map(row)}
      </div>
      {offers.includes("worktree") && git && rest.length > 0 && (
        <Fold label={plural(rest.length, "more worktree")} lazy>
          <div className={css.choices}>{rest.map(row)}</div>
        </Fold>
      )}
      {repo?.kind === "plain" && <p className={css.hint}>Folders without git have no worktrees.</p>}
    </>
  );
}

function WorktreeRow({
  worktree,
  name,
  checked,
  onChoose,
  there,
}: {
  worktree: Worktree;
  name: string;
  checked: boolean;
  onChoose: () => void;
  there: Session[];
}) {
  const git = useQuery(worktreeQuery(worktree.id)).data?.git;
  const usable = worktree.status === "ready" && !git?.missing;
  return (
    <Choice
      name={name}
      checked={checked}
      onChoose={onChoose}
      disabled={!usable}
      title={worktree.name}
      marks={
        <>
          {git?.dirty && (
            <Badge tone="waiting" title={`${git.changed} changed, ${git.untracked} untracked`}>
              {plural((git.changed ?? 0) + (git.untracked ?? 0), "uncommitted file")}
            </Badge>
          )}
          {!usable && <Badge>{git?.missing ? "folder is missing" : "setting up"}</Badge>}
          <ActiveSessions of={there} />
        </>
      }
    >
      <span className={css.mono}>{worktree.path}</span>
    </Choice>
  );
}

/** Shows how many other sessions are active in a folder. */
function ActiveSessions({ of }: { of: Session[] }) {
  if (!of.length) return null;
  return (
    <Badge
      title={of.map(sessionName).join("\n")}
      tone={of.some((item) => item.activity === "running") ? "running" : "plain"}
    >
      {plural(of.length, "active session")}
    </Badge>
  );
}
