/** Converts the limit of a transcript to and from the text of its form, in MiB. A blank text means the server's limit. */

const MIB = 1024 * 1024;

export const limitText = (ownLimit: number | null): string =>
  ownLimit === null ? "" : `${Math.round((ownLimit / MIB) * 100) / 100}`;

/** Returns the limit in bytes, null for the server's, or undefined if the text is not a limit. */
export function parseLimit(text: string): number | null | undefined {
  const trimmed = text.trim().replace(",", ".");
  if (trimmed === "") return null;
  const size = Math.round(Number(trimmed) * MIB);
  return Number.isFinite(size) && size >= 1 ? size : undefined;
}

export const mebibytes = (size: number): string =>
  size > 0 && size < MIB / 10 ? "<0.1 MiB" : `${(size / MIB).toFixed(size < 10 * MIB ? 1 : 0)} MiB`;
