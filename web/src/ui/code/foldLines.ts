/** Decides which lines of long text are shown. */

/** Text is folded to this many lines, unless that would hide only a few. */
export const MAX_LINES = 40;
const MIN_HIDDEN = 8;

export interface FoldedText {
  readonly text: string;
  readonly lines: number;
  readonly folded: boolean;
}

export function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Returns the first lines of a text, or its last ones if `fromEnd`; all of them if `open`. */
export function foldLines(text: string, open: boolean, fromEnd: boolean, maxLines = MAX_LINES): FoldedText {
  const lines = lineCount(text);
  if (open || lines <= maxLines + MIN_HIDDEN) return { text, lines, folded: false };
  let at = fromEnd ? text.length : -1;
  for (let n = 0; n < maxLines; n += 1)
    at = fromEnd ? text.lastIndexOf("\n", at - 1) : text.indexOf("\n", at + 1);
  return { text: fromEnd ? text.slice(at + 1) : text.slice(0, at), lines, folded: true };
}
