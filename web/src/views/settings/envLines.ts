/** Converts environment variables and headers to lines of NAME=value and back. */

export const toLines = (pairs: Record<string, unknown>): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");

/** Parses lines; a line without `=` is an error. */
export function fromLines(text: string): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const line of text.split("\n").filter((name) => name.trim())) {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(`“${line.trim()}” is not NAME=value.`);
    pairs[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return pairs;
}
