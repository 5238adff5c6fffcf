/** The git repositories below the workspace root, with a filter. */
import { useQuery } from "@tanstack/react-query";
import { FolderGit2, GitBranch } from "lucide-react";
import { useState } from "react";
import { foundReposQuery } from "@/api/queries";
import type { FoundRepo } from "@/api/types";
import { plural } from "@/lib/format";
import { Input } from "@/ui/controls/Field";
import { Empty, Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { Time } from "@/ui/labels/Time";
import list from "@/ui/layout/listView.module.css";
import { AddButton } from "./AddButton";
import css from "./AddRepo.module.css";

const MOST_SHOWN = 100;

export function FoundRepos() {
  const query = useQuery(foundReposQuery);
  const [words, setWords] = useState("");
  if (query.error && !query.data) return <Problem error={query.error} retry={() => void query.refetch()} />;
  if (!query.data) return <Skeleton lines={4} block />;
  const { repos, root, complete } = query.data;
  const matching = repos.filter(({ folder }) => folder.toLowerCase().includes(words.trim().toLowerCase()));
  const added = repos.filter(({ repoId }) => repoId !== null).length;
  if (!repos.length)
    return (
      <Empty icon={<FolderGit2 />} title="No git repositories found">
        {complete
          ? `There are none below ${root}.`
          : `Not all folders below ${root} could be looked at. Browse them instead.`}
      </Empty>
    );
  return (
    <>
      <Input
        type="search"
        aria-label="Filter by folder"
        placeholder="Filter by folder"
        value={words}
        onChange={(event) => setWords(event.target.value)}
      />
      <p className={list.count} role="status">
        {plural(repos.length, "repository", "repositories")} below {root}
        {added > 0 && `, ${added} added`}
        {matching.length < repos.length && `, ${matching.length} shown`}
        {!complete && ". Not all folders could be looked at"}
      </p>
      <ul className={css.rows} aria-label="Found repositories">
        {matching.slice(0, MOST_SHOWN).map((repo) => (
          <Row key={repo.path} repo={repo} />
        ))}
      </ul>
    </>
  );
}

function Row({ repo }: { repo: FoundRepo }) {
  const { name, path, folder, branch, usedAt, repoId } = repo;
  return (
    <li className={css.row}>
      <FolderGit2 aria-hidden />
      <div className={css.words}>
        <span className={css.name}>{name}</span>
        <span className={css.path} title={path}>
          {folder || path}
        </span>
      </div>
      {branch && (
        <span className={css.branch}>
          <GitBranch aria-hidden /> {branch}
        </span>
      )}
      {usedAt && (
        <span className={css.when}>
          <Time at={usedAt} />
        </span>
      )}
      <AddButton name={folder || name} path={path} repoId={repoId} />
    </li>
  );
}
