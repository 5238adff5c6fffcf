/** The lines of one file's differences, one column or two. */
import { memo, useState } from "react";
import { Button } from "../controls/Button";
import css from "./DiffView.module.css";
import { type FilePatch, type Line, type Pair, paired } from "./parsePatch";

/** So many lines are drawn at once; the others when they are asked for. */
const STEP = 400;

const TONES = { "+": css.added, "-": css.removed, " ": "" };
const SAID = { "+": "added", "-": "removed", " ": undefined };

type Row = { key: string; header?: string; line?: Line; pair?: Pair };

function rowsOf(file: FilePatch, split: boolean): Row[] {
  return file.hunks.flatMap((hunk, h) => [
    { key: `${h}`, header: hunk.header },
    ...(split
      ? paired(hunk.lines).map((pair, at) => ({ key: `${h}.${at}`, pair }))
      : hunk.lines.map((line, at) => ({ key: `${h}.${at}`, line }))),
  ]);
}

function Text({ line }: { line: Line | null }) {
  if (!line) return <td className={css.none} />;
  return (
    <td className={`${css.text} ${TONES[line.sign]}`}>
      <span className={css.sign} aria-hidden>
        {line.sign}
      </span>
      {SAID[line.sign] && <span className="visually-hidden">{SAID[line.sign]}: </span>}
      {line.text || " "}
      {line.endless && <span className={css.endless} title="No end of line here" />}
    </td>
  );
}

const Numbered = ({ at, line }: { at: number | null | undefined; line: Line | null }) => (
  <td className={`${css.number} ${line ? TONES[line.sign] : css.none}`}>{at}</td>
);

function One({ row }: { row: Row }) {
  if (row.line)
    return (
      <tr>
        <Numbered at={row.line.old} line={row.line} />
        <Numbered at={row.line.new} line={row.line} />
        <Text line={row.line} />
      </tr>
    );
  if (row.pair)
    return (
      <tr>
        <Numbered at={row.pair.left?.old} line={row.pair.left} />
        <Text line={row.pair.left} />
        <Numbered at={row.pair.right?.new} line={row.pair.right} />
        <Text line={row.pair.right} />
      </tr>
    );
  return null;
}

export const Lines = memo(function Lines({ file, split }: { file: FilePatch; split: boolean }) {
  const [most, setMost] = useState(STEP);
  const rows = rowsOf(file, split);
  const columns = split ? 4 : 3;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={css.scroll} tabIndex={0} aria-label={`Differences in ${file.path}`}>
      <table className={`${css.lines} ${split ? css.split : ""}`}>
        <tbody>
          {rows.slice(0, most).map((row) =>
            row.header === undefined ? (
              <One key={row.key} row={row} />
            ) : (
              <tr key={row.key} className={css.hunk}>
                <td colSpan={columns}>{row.header}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
      {rows.length > most && (
        <Button look="quiet" size="small" className={css.more} onClick={() => setMost(most + 5 * STEP)}>
          Show more ({rows.length - most} lines left)
        </Button>
      )}
    </section>
  );
});
