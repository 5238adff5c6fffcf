/** Splits a patch by file, so that the same file of two sessions can be shown side by side. */

/** Returns the patch of each file by its new name, or its old one if it was deleted. */
export function splitByFile(patch: string): Map<string, string> {
  const patches = new Map<string, string>();
  for (const part of patch.split(/^(?=diff --git )/m)) {
    if (!part.startsWith("diff --git ")) continue;
    const name = nameIn(part);
    if (name) patches.set(name, part);
  }
  return patches;
}

function nameIn(part: string): string | null {
  const head = part.split(/^@@/m, 1)[0]!;
  for (const mark of ["+++ b/", "rename to ", "--- a/"]) {
    const line = head.split("\n").find((name) => name.startsWith(mark));
    if (line) return unquoted(line.slice(mark.length).split("\t", 1)[0]!);
  }
  // Empty and binary files have none of these lines; their first line has the same name twice.
  return /^diff --git a\/(.*) b\/\1$/m.exec(head)?.[1] ?? null;
}

const unquoted = (name: string) => name.replace(/^"(.*)"$/, "$1");

/** Returns the names of all files in some patches, sorted. */
export const filesOf = (patches: Map<string, string>[]): string[] =>
  [...new Set(patches.flatMap((map) => [...map.keys()]))].sort();
