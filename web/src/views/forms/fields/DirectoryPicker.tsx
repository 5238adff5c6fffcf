/** Choosing where a session works: where the other one does, in the repository's own folder, in a worktree that is there,
 * or in a new one. */
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { activeInRepoQuery, useRepos, useWorktrees, worktreeQuery } from "@/api/queries";
import type { Session, Worktree } from "@/api/types";
import { plural } from "@/lib/format";
import { nameOf } from "@/lib/words";
import { Badge } from "@/ui/labels/Badge";
import { Choice, Fold } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { NEW_PLACE, type Place } from "@/views/forms/state/draft";
import { NewPlace } from "./NewWorktreeFields";

export type Offer = Place["kind"];

const MOST_SHOWN = 6;

export function PlacePicker({
  repoId,
  value,
  onChange,
  offers,
  from,
  takesIgnored,
}: {
  repoId: string;
  value: Place;
  onChange: (place: Place) => void;
  offers: readonly Offer[];
  /** The session that is branched from. */
  from?: Session;
  takesIgnored?: boolean;
}) {
  const name = useId();
  const repo = useRepos().data?.find((one) => one.id === repoId);
  const worktrees = (useWorktrees().data ?? []).filter(
    (one) => one.repoId === repoId && !one.removedAt && one.id !== from?.worktreeId,
  );
  const active = useQuery({ ...activeInRepoQuery(repoId), enabled: Boolean(repoId) }).data ?? [];
  const inOwn = active.filter((one) => one.worktreeId === null && one.id !== from?.id);
  const git = repo?.kind !== "plain";
  const chosen = value.kind === "worktree" ? value.worktreeId : null;
  const shown = worktrees.filter((one, at) => at < MOST_SHOWN || one.id === chosen);
  const rest = worktrees.filter((one) => !shown.includes(one));
  const row = (one: Worktree) => (
    <WorktreeRow
      key={one.id}
      worktree={one}
      name={name}
      checked={one.id === chosen}
      onChoose={() => onChange({ kind: "worktree", worktreeId: one.id })}
      there={active.filter((session) => session.worktreeId === one.id)}
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
            title="The same folder"
          >
            <span className={css.mono}>{from.cwd}</span>
            <span>Both see each other's files.</span>
          </Choice>
        )}
        {offers.includes("own") && (
          <Choice
            name={name}
            checked={value.kind === "own"}
            onChoose={() => onChange({ kind: "own" })}
            title="The repository's own folder"
            marks={<Others of={inOwn} />}
          >
            {repo && <span className={css.mono}>{repo.path}</span>}
          </Choice>
        )}
        {offers.includes("new") && git && (
          <Choice
            name={name}
            checked={value.kind === "new"}
            onChoose={() => onChange(value.kind === "new" ? value : NEW_PLACE)}
            title="A new worktree"
          >
            <span>
              {from
                ? "A folder and a branch of its own. It begins with the files of this session, also uncommitted ones."
                : "A folder and a branch of its own, beside all other work."}
            </span>
          </Choice>
        )}
        {value.kind === "new" && git && (
          <NewPlace
            place={value}
            onChange={onChange}
            repoId={repoId}
            branching={from !== undefined}
            bases={[repo?.defaultBranch ?? "main", ...worktrees.flatMap((one) => one.branch ?? [])]}
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
      {repo?.kind === "plain" && <p className={css.hint}>A plain folder without git has no worktrees.</p>}
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
          {!usable && <Badge>{git?.missing ? "its folder is gone" : "being set up"}</Badge>}
          <Others of={there} />
        </>
      }
    >
      <span className={css.mono}>{worktree.path}</span>
    </Choice>
  );
}

/** Who else works in a folder. */
function Others({ of }: { of: Session[] }) {
  if (!of.length) return null;
  return (
    <Badge
      title={of.map(nameOf).join("\n")}
      tone={of.some((one) => one.activity === "running") ? "running" : "plain"}
    >
      {plural(of.length, "active session")}
    </Badge>
  );
}
