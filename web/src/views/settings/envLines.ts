/** Names with values, as lines of text. */

export const toLines = (pairs: Record<string, unknown>): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");

/** A line without `=` is a mistake that is told, not a value that is lost. */
export function fromLines(text: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const line of text.split("\n").filter((one) => one.trim())) {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(`“${line.trim()}” is no NAME=value.`);
    pairs[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return pairs;
}
