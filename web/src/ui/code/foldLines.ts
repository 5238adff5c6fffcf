/** Which lines of long code are shown. */

/** Longer code is folded, but not for the sake of a few lines. */
export const FOLD_AT = 40;
const WORTH_IT = 8;

export interface Part {
  readonly text: string;
  readonly lines: number;
  readonly folded: boolean;
}

export function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** The first lines, or the last ones of code that is being written. */
export function part(text: string, open: boolean, last: boolean, most = FOLD_AT): Part {
  const lines = lineCount(text);
  if (open || lines <= most + WORTH_IT) return { text, lines, folded: false };
  let at = last ? text.length : -1;
  for (let n = 0; n < most; n += 1) at = last ? text.lastIndexOf("\n", at - 1) : text.indexOf("\n", at + 1);
  return { text: last ? text.slice(at + 1) : text.slice(0, at), lines, folded: true };
}
