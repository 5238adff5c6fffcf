/** Turns a file's patch into rows to draw, with the comments at their lines. */
import type { ReviewComment } from "@/api/types";
import { type FilePatch, type Line, type LinePair, pairLines } from "@/ui/diff/parsePatch";

export type Side = "old" | "new";

/** Lines that a comment is being written about. */
export interface LineRange {
  side: Side;
  start: number;
  end: number;
}

export type DiffRow =
  | { kind: "hunk"; key: string; header: string }
  | { kind: "line"; key: string; line: Line; partner: Line | null }
  | { kind: "pair"; key: string; pair: LinePair }
  | { kind: "comments"; key: string; comments: ReviewComment[] }
  | { kind: "editor"; key: string; range: LineRange };

/** The number of a line on one side; null if it is not there. */
export const numberOn = (line: Line | null, side: Side): number | null => line?.[side] ?? null;

/** The side on which a line is commented: removed lines on the old one, all others on the new one. */
export const sideOf = (line: Line): Side => (line.sign === "-" ? "old" : "new");

const linesOf = (row: DiffRow): (Line | null)[] =>
  row.kind === "line" ? [row.line] : row.kind === "pair" ? [row.pair.left, row.pair.right] : [];

/** Returns whether a row shows a line of one side, as that side: unchanged lines count as new ones. */
function shows(row: DiffRow, side: Side, number: number): boolean {
  return linesOf(row).some((line) => line && sideOf(line) === side && numberOn(line, side) === number);
}

export const isIn = (line: Line | null, range: LineRange | null): boolean => {
  if (!line || !range || sideOf(line) !== range.side) return false;
  const number = numberOn(line, range.side);
  return number !== null && number >= range.start && number <= range.end;
};

function lineRows(file: FilePatch, split: boolean): DiffRow[] {
  return file.hunks.flatMap((hunk, at): DiffRow[] => {
    const pairs = pairLines(hunk.lines);
    const head: DiffRow = { kind: "hunk", key: `h${at}`, header: hunk.header };
    if (split) return [head, ...pairs.map((pair, n): DiffRow => ({ kind: "pair", key: `${at}.${n}`, pair }))];
    const partners = new Map<Line, Line>();
    for (const { left, right } of pairs)
      if (left && right && left !== right) {
        partners.set(left, right);
        partners.set(right, left);
      }
    return [
      head,
      ...hunk.lines.map(
        (line, n): DiffRow => ({
          kind: "line",
          key: `${at}.${n}`,
          line,
          partner: partners.get(line) ?? null,
        }),
      ),
    ];
  });
}

/** Returns all rows, and the comments whose lines are not among them. */
export function rowsOf(
  file: FilePatch,
  split: boolean,
  comments: ReviewComment[],
  editing: LineRange | null,
): { rows: DiffRow[]; elsewhere: ReviewComment[] } {
  const placed = new Set<string>();
  let edited = false;
  const rows = lineRows(file, split).flatMap((row): DiffRow[] => {
    if (row.kind === "hunk") return [row];
    const here = comments.filter(
      ({ side, lastLine }) => side && lastLine !== null && shows(row, side, lastLine),
    );
    for (const { id } of here) placed.add(id);
    const added: DiffRow[] = [row];
    if (here.length) added.push({ kind: "comments", key: `c${row.key}`, comments: here });
    if (editing && !edited && shows(row, editing.side, editing.end)) {
      edited = true;
      added.push({ kind: "editor", key: "editor", range: editing });
    }
    return added;
  });
  return { rows, elsewhere: comments.filter(({ id }) => !placed.has(id)) };
}

/** Extends a range to a line, if it is on the same side; else begins a new one. */
export function extended(range: LineRange | null, line: Line): LineRange | null {
  const side = sideOf(line);
  const number = numberOn(line, side);
  if (number === null) return range;
  if (range?.side !== side) return { side, start: number, end: number };
  return { side, start: Math.min(range.start, number), end: Math.max(range.end, number) };
}

export const oneLine = (line: Line): LineRange | null => extended(null, line);

/** Says which lines a range has. */
export const rangeName = ({ side, start, end }: LineRange): string =>
  `${start === end ? `line ${start}` : `lines ${start}–${end}`}${side === "old" ? " (removed)" : ""}`;
