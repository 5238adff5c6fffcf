/** A patch of many files cut into one for each, so that the same file of two sessions can stand side by side. */

/** By the file's name after the change, or before it if it was deleted. */
export function byFile(patch: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const part of patch.split(/^(?=diff --git )/m)) {
    if (!part.startsWith("diff --git ")) continue;
    const name = nameIn(part);
    if (name) found.set(name, part);
  }
  return found;
}

function nameIn(part: string): string | null {
  const head = part.split(/^@@/m, 1)[0]!;
  for (const mark of ["+++ b/", "rename to ", "--- a/"]) {
    const line = head.split("\n").find((one) => one.startsWith(mark));
    if (line) return unquoted(line.slice(mark.length).split("\t", 1)[0]!);
  }
  // Neither is there for empty and binary files: both names in the first line are the same.
  return /^diff --git a\/(.*) b\/\1$/m.exec(head)?.[1] ?? null;
}

const unquoted = (name: string) => name.replace(/^"(.*)"$/, "$1");

/** All files that any of the patches has, in the order of names. */
export const filesOf = (patches: Map<string, string>[]): string[] =>
  [...new Set(patches.flatMap((one) => [...one.keys()]))].sort();
