/** Lists the folders of the server's machine below the workspace root, one level at a time. */
import { useQuery } from "@tanstack/react-query";
import { CornerLeftUp, Folder, FolderGit2 } from "lucide-react";
import { useState } from "react";
import { foldersQuery } from "@/api/queries";
import { Button } from "@/ui/controls/Button";
import { Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { AddButton } from "./AddButton";
import css from "./AddRepo.module.css";

export function FolderBrowser() {
  const [path, setPath] = useState<string | null>(null);
  const query = useQuery(foldersQuery(path));
  if (query.error && !query.data)
    return (
      <div className={css.browser}>
        <Problem error={query.error} retry={() => void query.refetch()} />
        {path && <Button onClick={() => setPath(null)}>Back to the workspace root</Button>}
      </div>
    );
  if (!query.data) return <Skeleton lines={4} block />;
  const { path: shown, parent, folders, more, repoId, isGit } = query.data;
  return (
    <div className={css.browser}>
      <div className={css.here}>
        {parent && (
          <Button size="small" icon={<CornerLeftUp />} onClick={() => setPath(parent)}>
            Up
          </Button>
        )}
        <code className={css.where}>{shown}</code>
        {parent && (
          <>
            {isGit && <span className={css.branch}>git</span>}
            <AddButton name="this folder" path={shown} repoId={repoId} />
          </>
        )}
      </div>
      {folders.length ? (
        <ul className={css.rows} aria-label="Folders">
          {folders.map((folder) => (
            <li key={folder.path} className={css.row}>
              {folder.isGit ? <FolderGit2 aria-hidden /> : <Folder aria-hidden />}
              <button type="button" className={css.open} onClick={() => setPath(folder.path)}>
                {folder.name}
              </button>
              {folder.isGit && <AddButton name={folder.name} path={folder.path} repoId={folder.repoId} />}
            </li>
          ))}
        </ul>
      ) : (
        <p className={css.none}>No folders here.</p>
      )}
      {more && <p className={css.none}>There are more folders than this list shows.</p>}
    </div>
  );
}
