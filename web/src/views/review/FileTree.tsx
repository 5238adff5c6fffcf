/** Lists the changed files by folder, with counts, viewed marks and numbers of comments. */
import { CircleCheck, MessageSquare } from "lucide-react";
import { Fragment } from "react";
import type { ReviewFile } from "@/api/types";
import { plural } from "@/lib/format";
import { DiffCounts } from "@/ui/diff/DiffView";
import css from "./Review.module.css";

const LETTERS: Record<ReviewFile["status"], string> = {
  added: "A",
  deleted: "D",
  modified: "M",
  renamed: "R",
  copied: "C",
  typeChanged: "T",
  unmerged: "U",
};

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);
export const baseName = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** Orders files by folder, those of a folder before its subfolders. */
export const ordered = (files: ReviewFile[]): ReviewFile[] =>
  [...files].sort(
    (a, b) =>
      folderOf(a.path).localeCompare(folderOf(b.path)) || baseName(a.path).localeCompare(baseName(b.path)),
  );

export function FileTree({
  files,
  selected,
  onSelect,
}: {
  files: ReviewFile[];
  selected: string | undefined;
  onSelect: (path: string) => void;
}) {
  return (
    <ul className={css.tree}>
      {files.map((file, at) => {
        const folder = folderOf(file.path);
        return (
          <Fragment key={file.path}>
            {folder !== folderOf(files[at - 1]?.path ?? "") && (
              <li className={css.folder} title={folder}>
                <bdi>{folder || "/"}</bdi>
              </li>
            )}
            <li>
              <button
                type="button"
                className={css.treeFile}
                aria-current={file.path === selected ? "true" : undefined}
                title={file.oldPath ? `${file.oldPath} → ${file.path}` : file.path}
                onClick={() => onSelect(file.path)}
              >
                <span className={css.letter} data-status={file.status}>
                  <span aria-hidden>{LETTERS[file.status]}</span>
                  <span className="visually-hidden">{file.status}: </span>
                </span>
                <span className={css.fileName} data-viewed={file.viewed || undefined}>
                  {baseName(file.path)}
                </span>
                {file.comments > 0 && (
                  <span className={css.commentCount}>
                    <MessageSquare aria-hidden />
                    {file.comments}
                    <span className="visually-hidden"> {plural(file.comments, "comment")}</span>
                  </span>
                )}
                {file.viewed && (
                  <>
                    <CircleCheck className={css.viewedMark} aria-hidden />
                    <span className="visually-hidden">viewed</span>
                  </>
                )}
                {!file.binary && <DiffCounts additions={file.additions} deletions={file.deletions} />}
              </button>
            </li>
          </Fragment>
        );
      })}
    </ul>
  );
}
