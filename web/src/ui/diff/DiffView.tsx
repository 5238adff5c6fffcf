/** Shows diffs: a git patch with any number of files, or one text before and after. */
import { ChevronRight } from "lucide-react";
import { useId, useMemo, useState } from "react";
import { Badge, type Tone } from "../labels/Badge";
import { DiffLines } from "./DiffLines";
import css from "./DiffView.module.css";
import { type FilePatch, type FileStatus, fileOf, parsePatch } from "./parsePatch";

/** Files with more changed lines are collapsed at first, as are all files after this many lines. */
const LARGE_FILE = 300;
const MAX_OPEN_LINES = 1200;

const STATUS_BADGES: Record<FileStatus, [string, Tone] | null> = {
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

/** Explains why a file has no lines to show. */
function emptyNote(file: FilePatch): string | null {
  if (file.binary) return "Binary file not shown.";
  if (file.hunks.length) return null;
  if (file.status === "renamed" || file.status === "copied")
    return file.status === "renamed" ? "File renamed without changes." : "File copied without changes.";
  if (file.status === "mode") return "Only the file mode changed.";
  return file.status === "modified" ? "No changes." : "Empty file.";
}

function FileDiff({ file, open: startOpen, split }: { file: FilePatch; open: boolean; split: boolean }) {
  const [open, setOpen] = useState(startOpen);
  const id = useId();
  const status = STATUS_BADGES[file.status];
  const note = emptyNote(file);
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
        {open && (note ? <p className={css.nothing}>{note}</p> : <DiffLines file={file} split={split} />)}
      </div>
    </div>
  );
}

/** Shows a git patch with any number of files. */
export function DiffView({ patch, split = false }: { patch: string; split?: boolean }) {
  const files = useMemo(() => parsePatch(patch), [patch]);
  if (!files.length) return <p className={css.nothing}>No changes.</p>;
  const sizes = files.map((file) => file.additions + file.deletions);
  const linesBefore = (index: number) => sizes.slice(0, index).reduce((sum, size) => sum + size, 0);
  return (
    <div className={css.files}>
      {files.map((file, index) => {
        const open = sizes[index]! <= LARGE_FILE && linesBefore(index) <= MAX_OPEN_LINES;
        // biome-ignore lint/suspicious/noArrayIndexKey: a patch may contain the same path twice
        return <FileDiff key={`${index} ${file.path}`} file={file} split={split} open={open} />;
      })}
    </div>
  );
}

/** Shows the diff of one file. `oldText` is null for a new file. */
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
  /** Defaults to open for small diffs. */
  open?: boolean;
}) {
  const file = useMemo(() => fileOf(path, oldText, newText), [path, oldText, newText]);
  return <FileDiff file={file} split={split} open={open ?? file.additions + file.deletions <= LARGE_FILE} />;
}
