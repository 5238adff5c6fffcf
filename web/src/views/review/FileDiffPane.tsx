/** Shows the change of one file: only the rows in sight are drawn. Lines are chosen with the pointer or the arrow keys, and
 * commented on in place. */
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import { addComment, runRequest } from "@/api/actions";
import type { ReviewKind } from "@/api/queries/reviews";
import type { FileReview, ReviewComment } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { focusByCode } from "@/lib/focus";
import { usePref } from "@/lib/prefs";
import { languageOf, useHighlighter } from "@/ui/code/highlight";
import { type FilePatch, type Line, parsePatch } from "@/ui/diff/parsePatch";
import { CommentEditor } from "./CommentEditor";
import { CommentView } from "./CommentView";
import { SplitLine, UnifiedLine } from "./DiffLine";
import { type DiffRow, extended, isIn, type LineRange, oneLine, rangeName, rowsOf } from "./diffModel";
import { LineHighlighter } from "./lineText";
import css from "./Review.module.css";

/** The height of a line that does not wrap, in pixels. */
const LINE_HEIGHT = 20;
const NO_FILE: FilePatch = {
  path: "",
  oldPath: null,
  status: "modified",
  binary: false,
  additions: 0,
  deletions: 0,
  hunks: [],
};

/** Text that was typed and not saved: it survives a reload. The hash is that of the version whose lines were chosen. */
interface Unsaved {
  path: string;
  hash?: string;
  range: LineRange;
  text: string;
}

const lineOf = (row: DiffRow | undefined): Line | null =>
  row?.kind === "line" ? row.line : row?.kind === "pair" ? (row.pair.right ?? row.pair.left) : null;

function emptyNote(file: FileReview): string {
  if (file.submodule) return "Submodule.";
  if (file.binary) return "Binary file not shown.";
  if (file.oldPath) return "The file was renamed without changes.";
  return file.additions + file.deletions === 0 ? "The file is empty, or only its mode changed." : "";
}

export function FileDiffPane({
  kind,
  subjectId,
  file,
  comments,
  split,
  mayWork,
  onChange,
}: {
  kind: ReviewKind;
  subjectId: string;
  file: FileReview;
  comments: ReviewComment[];
  split: boolean;
  mayWork: boolean;
  /** Called when comments have changed. */
  onChange: () => void;
}) {
  const patch = useMemo(() => parsePatch(file.patch)[0] ?? NO_FILE, [file.patch]);
  const engine = useHighlighter();
  const highlighter = useMemo(
    () => new LineHighlighter(patch, languageOf(file.path), engine),
    [patch, file.path, engine],
  );
  const [unsaved, setUnsaved] = usePref<Unsaved | null>(`review.${kind}.${subjectId}`, null);
  const editing = mayWork && unsaved?.path === file.path ? unsaved : null;
  const isStale = editing !== null && editing.hash !== file.hash;
  const [cursor, setCursor] = useState<string | null>(null);
  const [range, setRange] = useState<LineRange | null>(null);
  const { rows, elsewhere } = useMemo(
    () => rowsOf(patch, split, comments, editing?.range ?? null),
    [patch, split, comments, editing?.range],
  );
  const scroller = useRef<HTMLElement>(null);
  const list = useRef<VirtualizerHandle>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another file begins at its top
  useEffect(() => {
    scroller.current?.scrollTo(0, 0);
    setCursor(null);
    setRange(null);
  }, [file.path]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the chosen lines are others in another version
  useEffect(() => setRange(null), [file.hash]);

  const open = useCallback(
    (chosen: LineRange | null) => {
      if (!chosen || !mayWork) return;
      setRange(chosen);
      const text = unsaved?.path === file.path ? unsaved.text : "";
      setUnsaved({ path: file.path, hash: file.hash, range: chosen, text });
    },
    [file.path, file.hash, mayWork, setUnsaved, unsaved],
  );
  const close = () => {
    setUnsaved(undefined);
    setRange(null);
    focusByCode(scroller.current);
  };
  const onNumber = (line: Line, extend: boolean) =>
    open(extend && !isStale ? extended(editing?.range ?? range, line) : oneLine(line));

  const move = (step: number, extend: boolean) => {
    const from = rows.findIndex(({ key }) => key === cursor);
    let to = from + step;
    while (rows[to] && !lineOf(rows[to])) to += step;
    const line = lineOf(rows[to]);
    if (!line) return;
    setCursor(rows[to]!.key);
    const start = extend ? (range ?? (from >= 0 ? oneLine(lineOf(rows[from])!) : null)) : null;
    setRange(extended(start, line));
    list.current?.scrollToIndex(to, { align: "nearest" });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.metaKey || event.ctrlKey || event.altKey) return;
    const step = { ArrowDown: 1, j: 1, J: 1, ArrowUp: -1, k: -1, K: -1 }[event.key];
    if (step) move(step, event.shiftKey);
    else if (event.key === "Enter" && range) open(range);
    else if (event.key === "Escape" && range) setRange(null);
    else return;
    event.preventDefault();
  };
  useActions(
    mayWork
      ? [{ keys: "c", label: "Comment on the chosen lines", group: "Review", run: () => open(range) }]
      : [],
  );

  const save = async (body: string) => {
    if (!editing) return false;
    const { side, start, end } = editing.range;
    const saved = await runRequest(() =>
      addComment(kind, subjectId, {
        path: file.path,
        side,
        startLine: start,
        endLine: end,
        hash: editing.hash,
        body,
      }),
    );
    if (saved) close();
    onChange();
    return saved;
  };
  const shownRange = isStale ? range : (editing?.range ?? range);
  const editor = editing && (
    <CommentEditor
      label={`Comment on ${rangeName(editing.range)}`}
      text={editing.text}
      problem={isStale ? "The file has changed. Choose the lines again; your text is kept." : null}
      onText={(text) => setUnsaved({ ...editing, text })}
      onSave={save}
      onCancel={close}
    />
  );
  const draw = (row: DiffRow) => {
    const props = {
      highlighter,
      onNumber,
      mayWork,
      isChosen: (line: Line | null) => isIn(line, shownRange),
      isCursor: row.key === cursor,
    };
    switch (row.kind) {
      case "hunk":
        return <div className={css.hunk}>{row.header}</div>;
      case "line":
        return <UnifiedLine line={row.line} partner={row.partner} {...props} />;
      case "pair":
        return <SplitLine pair={row.pair} {...props} />;
      case "comments":
        return (
          <div className={css.thread}>
            {row.comments.map((comment) => (
              <CommentView key={comment.id} comment={comment} mayWork={mayWork} onChange={onChange} />
            ))}
          </div>
        );
      case "editor":
        return <div className={css.thread}>{editor}</div>;
    }
  };
  return (
    <section
      ref={scroller}
      className={css.diff}
      aria-label={`Diff of ${file.path}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
      tabIndex={0}
      onKeyDown={onKey}
    >
      {elsewhere.length > 0 && (
        <div className={css.elsewhere}>
          {elsewhere.map((comment) => (
            <CommentView key={comment.id} comment={comment} quote mayWork={mayWork} onChange={onChange} />
          ))}
        </div>
      )}
      {editor && !rows.some(({ kind }) => kind === "editor") && <div className={css.elsewhere}>{editor}</div>}
      {rows.length ? (
        <Virtualizer ref={list} data={rows} scrollRef={scroller} itemSize={LINE_HEIGHT} bufferSize={400}>
          {(row: DiffRow) => <div key={row.key}>{draw(row)}</div>}
        </Virtualizer>
      ) : (
        <p className={css.nothing}>{emptyNote(file)}</p>
      )}
      {file.truncated && <p className={css.nothing}>The change is too large to be shown whole.</p>}
    </section>
  );
}
