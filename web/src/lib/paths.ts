/** Shortens paths for people. */

/** Removes a folder's path from all paths in a text that lie inside the folder. */
export function relativeTo(text: string, folder?: string): string {
  if (!folder) return text;
  // Not in the middle of another path: `/tmp/w/a` is not in the folder `/w`.
  return text
    .split(`${folder}/`)
    .reduce((before, after) => (/[\w./~-]$/.test(before) ? `${before}${folder}/${after}` : before + after));
}
