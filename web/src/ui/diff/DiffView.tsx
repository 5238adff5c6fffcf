/** Differences of files: a patch of git's with any number of files, or one text before and after. */
import { ChevronRight } from "lucide-react";
import { useId, useMemo, useState } from "react";
import { Badge, type Tone } from "../labels/Badge";
import { Lines } from "./DiffLines";
import css from "./DiffView.module.css";
import { type FilePatch, type FileStatus, fileOf, parsePatch } from "./parsePatch";

/** Files that change more than this are folded at first, and all files behind so many lines. */
const LARGE = 300;
const MOST = 1200;

const STATUS: Record<FileStatus, [string, Tone] | null> = {
  added: ["New", "done"],
  deleted: ["Deleted", "failed"],
  renamed: ["Renamed", "running"],
  copied: ["Copied", "running"],
  mode: ["Mode changed", "plain"],
  modified: null,
};

export function DiffCounts({ additions, deletions }: { additions: number; deletions: number }) {
  return (
    <span className={css.counts}>
      <span className={css.plus}>
        +{additions}
        <span className="visually-hidden"> lines added,</span>
      </span>{" "}
      <span className={css.minus}>
        −{deletions}
        <span className="visually-hidden"> lines removed</span>
      </span>
    </span>
  );
}

function nothingToSee(file: FilePatch): string | null {
  if (file.binary) return "A binary file. Its contents are not shown.";
  if (file.hunks.length) return null;
  if (file.status === "renamed" || file.status === "copied") return "Only its name is another.";
  if (file.status === "mode") return "Only its mode was changed.";
  return file.status === "modified" ? "Nothing was changed." : "It is empty.";
}

function File({ file, open: first, split }: { file: FilePatch; open: boolean; split: boolean }) {
  const [open, setOpen] = useState(first);
  const id = useId();
  const status = STATUS[file.status];
  const nothing = nothingToSee(file);
  return (
    <div className={css.file}>
      <button
        type="button"
        className={css.head}
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <ChevronRight className={open ? css.turned : css.turn} aria-hidden />
        <span className={css.path} title={file.path}>
          {file.oldPath && file.oldPath !== file.path && `${file.oldPath} → `}
          {file.path}
        </span>
        {status && <Badge tone={status[1]}>{status[0]}</Badge>}
        {!file.binary && <DiffCounts additions={file.additions} deletions={file.deletions} />}
      </button>
      <div id={id} hidden={!open}>
        {open && (nothing ? <p className={css.nothing}>{nothing}</p> : <Lines file={file} split={split} />)}
      </div>
    </div>
  );
}

/** A patch as git writes it, with any number of files. */
export function DiffView({ patch, split = false }: { patch: string; split?: boolean }) {
  const files = useMemo(() => parsePatch(patch), [patch]);
  if (!files.length) return <p className={css.nothing}>There is no difference.</p>;
  const sizes = files.map((file) => file.additions + file.deletions);
  const before = (at: number) => sizes.slice(0, at).reduce((sum, size) => sum + size, 0);
  return (
    <div className={css.files}>
      {files.map((file, at) => {
        const open = sizes[at]! <= LARGE && before(at) <= MOST;
        // biome-ignore lint/suspicious/noArrayIndexKey: the same path may come twice in a patch
        return <File key={`${at} ${file.path}`} file={file} split={split} open={open} />;
      })}
    </div>
  );
}

/** One file, before (`null`: it was not there) and after. */
export function TextDiff({
  path,
  oldText,
  newText,
  split = false,
  open,
}: {
  path: string;
  oldText: string | null;
  newText: string;
  split?: boolean;
  /** Left out: open if it is small. */
  open?: boolean;
}) {
  const file = useMemo(() => fileOf(path, oldText, newText), [path, oldText, newText]);
  return <File file={file} split={split} open={open ?? file.additions + file.deletions <= LARGE} />;
}
