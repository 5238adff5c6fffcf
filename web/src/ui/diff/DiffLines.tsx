/** Shows the lines of one file's diff, unified or side by side. */
import { memo, useState } from "react";
import { Button } from "../controls/Button";
import css from "./DiffView.module.css";
import { type FilePatch, type Line, type LinePair, pairLines } from "./parsePatch";

/** This many lines are drawn at first; the others on demand. */
const PAGE = 400;

const TONES = { "+": css.added, "-": css.removed, " ": "" };
const LABELS = { "+": "added", "-": "removed", " ": undefined };

type Row = { key: string; header?: string; line?: Line; pair?: LinePair };

function rowsOf(file: FilePatch, split: boolean): Row[] {
  return file.hunks.flatMap((hunk, h) => [
    { key: `${h}`, header: hunk.header },
    ...(split
      ? pairLines(hunk.lines).map((pair, at) => ({ key: `${h}.${at}`, pair }))
      : hunk.lines.map((line, at) => ({ key: `${h}.${at}`, line }))),
  ]);
}

function LineText({ line }: { line: Line | null }) {
  if (!line) return <td className={css.none} />;
  return (
    <td className={`${css.text} ${TONES[line.sign]}`}>
      <span className={css.sign} aria-hidden>
        {line.sign}
      </span>
      {LABELS[line.sign] && <span className="visually-hidden">{LABELS[line.sign]}: </span>}
      {line.text || " "}
      {line.noNewline && <span className={css.noNewline} title="No newline at end of file" />}
    </td>
  );
}

const LineNumber = ({ at, line }: { at: number | null | undefined; line: Line | null }) => (
  <td className={`${css.number} ${line ? TONES[line.sign] : css.none}`}>{at}</td>
);

function DiffRow({ row }: { row: Row }) {
  if (row.line)
    return (
      <tr>
        <LineNumber at={row.line.old} line={row.line} />
        <LineNumber at={row.line.new} line={row.line} />
        <LineText line={row.line} />
      </tr>
    );
  if (row.pair)
    return (
      <tr>
        <LineNumber at={row.pair.left?.old} line={row.pair.left} />
        <LineText line={row.pair.left} />
        <LineNumber at={row.pair.right?.new} line={row.pair.right} />
        <LineText line={row.pair.right} />
      </tr>
    );
  return null;
}

export const DiffLines = memo(function DiffLines({ file, split }: { file: FilePatch; split: boolean }) {
  const [shown, setShown] = useState(PAGE);
  const rows = rowsOf(file, split);
  const columns = split ? 4 : 3;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
    <section className={css.scroll} tabIndex={0} aria-label={`Diff of ${file.path}`}>
      <table className={`${css.lines} ${split ? css.split : ""}`}>
        <tbody>
          {rows.slice(0, shown).map((row) =>
            row.header === undefined ? (
              <DiffRow key={row.key} row={row} />
            ) : (
              <tr key={row.key} className={css.hunk}>
                <td colSpan={columns}>{row.header}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      {rows.length > shown && (
        <Button variant="quiet" size="small" className={css.more} onClick={() => setShown(shown + 5 * PAGE)}>
          Show more ({rows.length - shown} lines hidden)
        </Button>
      )}
    </section>
  );
});
