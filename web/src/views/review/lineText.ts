/** Splits the text of lines into pieces: syntax colors by lowlight, changed words by jsdiff. */
import { diffWordsWithSpace } from "diff";
import { type HighlightedNodes, highlight, type useHighlighter } from "@/ui/code/highlight";
import type { FilePatch, Line } from "@/ui/diff/parsePatch";
import type { Side } from "./diffModel";

export interface Piece {
  text: string;
  /** The class of the syntax highlighter. */
  syntax?: string;
  /** Whether this is what changed within the line. */
  changed?: boolean;
}

/** This many lines are highlighted at once, when one of them is first drawn. */
const CHUNK = 200;
/** Words of longer lines are not compared, and neither are lines that have too little in common. */
const LONGEST_COMPARED = 500;
const LEAST_COMMON = 0.3;

/** Splits highlighted code into its lines. */
function splitLines(nodes: HighlightedNodes): Piece[][] {
  const lines: Piece[][] = [[]];
  const walk = (list: HighlightedNodes, syntax?: string): void => {
    for (const node of list) {
      if (node.type === "element") {
        const names = node.properties.className;
        walk(node.children as HighlightedNodes, Array.isArray(names) ? names.join(" ") : syntax);
      } else if (node.type === "text")
        node.value.split("\n").forEach((text, at) => {
          if (at) lines.push([]);
          if (text) lines.at(-1)!.push({ text, syntax });
        });
    }
  };
  walk(nodes);
  return lines;
}

/** Highlights the lines of a patch, part by part as they are drawn. */
export class LineHighlighter {
  #places = { old: new Map<Line, number>(), new: new Map<Line, number>() };
  #lines: Record<Side, Line[]> = { old: [], new: [] };
  #chunks = new Map<string, Piece[][] | null>();

  constructor(
    file: FilePatch,
    private readonly language: string | undefined,
    private readonly highlighter: ReturnType<typeof useHighlighter>,
  ) {
    for (const line of file.hunks.flatMap((hunk) => hunk.lines))
      for (const side of ["old", "new"] as const)
        if (line[side] !== null) {
          this.#places[side].set(line, this.#lines[side].length);
          this.#lines[side].push(line);
        }
  }

  pieces(line: Line): Piece[] {
    const side: Side = line.sign === "-" ? "old" : "new";
    const place = this.#places[side].get(line) ?? 0;
    const chunk = Math.floor(place / CHUNK);
    const key = `${side}${chunk}`;
    if (!this.#chunks.has(key)) {
      const text = this.#lines[side]
        .slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        .map((item) => item.text)
        .join("\n");
      const nodes = highlight(this.highlighter, text, this.language);
      this.#chunks.set(key, nodes && splitLines(nodes));
    }
    return this.#chunks.get(key)?.[place % CHUNK] ?? [{ text: line.text }];
  }
}

/** Returns where a line differs from the one that it replaced or that replaced it; empty if they have little in common. */
export function changedRanges(line: Line, partner: Line | null): [number, number][] {
  if (!partner || line.sign === " " || line.text.length + partner.text.length > LONGEST_COMPARED) return [];
  const [before, after] = line.sign === "-" ? [line, partner] : [partner, line];
  const ranges: [number, number][] = [];
  let at = 0;
  let common = 0;
  for (const { value, added, removed } of diffWordsWithSpace(before.text, after.text)) {
    if (!added && !removed) {
      common += value.trim().length;
      at += value.length;
    } else if (line.sign === (added ? "+" : "-")) {
      ranges.push([at, at + value.length]);
      at += value.length;
    }
  }
  return common < LEAST_COMMON * line.text.trim().length ? [] : ranges;
}

/** Cuts pieces at the borders of ranges, and marks what is inside them. */
export function marked(pieces: Piece[], ranges: [number, number][]): Piece[] {
  if (!ranges.length) return pieces;
  const borders = ranges.flat();
  const cut: Piece[] = [];
  let at = 0;
  for (const piece of pieces) {
    const end = at + piece.text.length;
    const stops = [at, ...borders.filter((border) => border > at && border < end), end];
    stops.slice(1).forEach((stop, index) => {
      const start = stops[index]!;
      const changed = ranges.some(([from, to]) => start >= from && stop <= to);
      cut.push({ ...piece, text: piece.text.slice(start - at, stop - at), changed });
    });
    at = end;
  }
  return cut;
}
