/** Parses git patches, and compares two texts, into the same files, hunks and lines. */
import { structuredPatch } from "diff";

export interface Line {
  readonly sign: " " | "+" | "-";
  readonly text: string;
  /** Line numbers in the old and the new file. */
  readonly old: number | null;
  readonly new: number | null;
  /** The file ends here without a newline. */
  readonly noNewline?: boolean;
}

export interface Hunk {
  readonly header: string;
  readonly lines: Line[];
}

export type FileStatus = "added" | "deleted" | "renamed" | "copied" | "modified" | "mode";

export interface FilePatch {
  path: string;
  oldPath: string | null;
  status: FileStatus;
  binary: boolean;
  additions: number;
  deletions: number;
  hunks: Hunk[];
}

export interface LinePair {
  readonly left: Line | null;
  readonly right: Line | null;
}

const ESCAPES: Record<string, string> = {
  n: "\n",
  t: "\t",
  r: "\r",
  '"': '"',
  "\\": "\\",
  a: "\x07",
  b: "\b",
};

/** Decodes a name as git quotes it: octal bytes of UTF-8. */
export function unquote(name: string): string {
  if (!name.startsWith('"')) return name;
  const bytes: number[] = [];
  const inner = name.slice(1, name.endsWith('"') ? -1 : undefined);
  for (const [match, octal, escaped] of inner.matchAll(/\\([0-7]{3})|\\(.)|[^\\]+/g)) {
    if (octal) bytes.push(Number.parseInt(octal, 8));
    else bytes.push(...new TextEncoder().encode(escaped ? (ESCAPES[escaped] ?? escaped) : match));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}

const nameIn = (line: string, prefix: string): string | null => {
  const name = unquote(line.slice(prefix.length).replace(/\t.*$/, ""));
  return name === "/dev/null" ? null : name.replace(/^[abciow]\//, "");
};

/** Returns both names of a line `diff --git a/x b/x`, for files that are named nowhere else. */
function gitNames(line: string): [string, string] {
  const rest = line.slice("diff --git ".length);
  const quoted = rest.match(/^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$/);
  if (quoted) return [nameIn(quoted[1]!, "") ?? "", nameIn(quoted[2]!, "") ?? ""];
  // A name with spaces appears twice, with different prefixes.
  const half = (rest.length - 1) / 2;
  return [rest.slice(2, half), rest.slice(half + 3)];
}

export function parsePatch(patch: string): FilePatch[] {
  const files: FilePatch[] = [];
  let file: FilePatch | null = null;
  let hunk: { header: string; lines: Line[] } | null = null;
  let [oldLine, newLine, oldLeft, newLeft] = [0, 0, 0, 0];
  const begin = (path: string, oldPath: string | null): FilePatch => {
    const started: FilePatch = {
      path,
      oldPath,
      status: "modified",
      binary: false,
      additions: 0,
      deletions: 0,
      hunks: [],
    };
    files.push(started);
    hunk = null;
    return started;
  };
  const lines = patch.split("\n");
  if (lines.at(-1) === "") lines.pop();
  for (const line of lines) {
    // Inside a hunk, a line that looks like a header belongs to the file.
    if (file && hunk && (oldLeft > 0 || newLeft > 0) && /^[ +\-\\]|^$/.test(line)) {
      if (line.startsWith("\\")) continue;
      const sign = (line[0] ?? " ") as Line["sign"];
      const text = line.slice(1);
      hunk.lines.push({ sign, text, old: sign === "+" ? null : oldLine, new: sign === "-" ? null : newLine });
      if (sign !== "+") [oldLine, oldLeft] = [oldLine + 1, oldLeft - 1];
      if (sign !== "-") [newLine, newLeft] = [newLine + 1, newLeft - 1];
      if (sign === "+") file.additions += 1;
      if (sign === "-") file.deletions += 1;
      continue;
    }
    if (line.startsWith("diff --git ")) {
      const [from, to] = gitNames(line);
      file = begin(to, from === to ? null : from);
      continue;
    }
    if (line.startsWith("--- ") && (!file || file.hunks.length > 0)) file = begin("", null);
    if (!file) continue;
    if (line.startsWith("\\") && hunk) {
      const last: Line | undefined = hunk.lines.at(-1);
      if (last) hunk.lines[hunk.lines.length - 1] = { ...last, noNewline: true };
    } else if (line.startsWith("new file mode")) file.status = "added";
    else if (line.startsWith("deleted file mode")) file.status = "deleted";
    else if (line.startsWith("old mode ")) file.status = "mode";
    else if (line.startsWith("rename from "))
      [file.status, file.oldPath] = ["renamed", unquote(line.slice(12))];
    else if (line.startsWith("rename to ")) file.path = unquote(line.slice(10));
    else if (line.startsWith("copy from ")) [file.status, file.oldPath] = ["copied", unquote(line.slice(10))];
    else if (line.startsWith("copy to ")) file.path = unquote(line.slice(8));
    else if (line.startsWith("Binary files ") || line.startsWith("GIT binary patch")) file.binary = true;
    else if (line.startsWith("--- ")) {
      const name = nameIn(line, "--- ");
      if (name === null) file.status = "added";
      else if (!file.path) file.path = name;
    } else if (line.startsWith("+++ ")) {
      const name = nameIn(line, "+++ ");
      if (name === null) file.status = "deleted";
      else file.path = name;
    } else {
      const at = line.match(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/);
      if (!at) continue;
      if (file.status === "mode") file.status = "modified";
      [oldLine, newLine] = [Number(at[1]), Number(at[3])];
      [oldLeft, newLeft] = [Number(at[2] ?? 1), Number(at[4] ?? 1)];
      hunk = { header: line, lines: [] };
      file.hunks.push(hunk);
    }
  }
  return files;
}

/** With more edits than this, all old lines are shown before all new ones: finding the shortest diff takes too long. */
const MAX_EDITS = 1000;

export function fileOf(path: string, oldText: string | null, newText: string): FilePatch {
  const options = { context: 3, maxEditLength: MAX_EDITS };
  const diff = structuredPatch(path, path, oldText ?? "", newText, undefined, undefined, options);
  const status = oldText === null ? "added" : "modified";
  const hunks = diff ? diff.hunks : [replaceAll(oldText ?? "", newText)];
  const text = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`, ...lines].join("\n"),
  );
  const parsed = parsePatch([`--- a/x`, `+++ b/x`, ...text].join("\n"))[0];
  return parsed
    ? { ...parsed, path, status }
    : { path, oldPath: null, status, binary: false, additions: 0, deletions: 0, hunks: [] };
}

function replaceAll(oldText: string, newText: string) {
  const [before, after] = [oldText, newText].map((text) => text.replace(/\n$/, "").split("\n")) as [
    string[],
    string[],
  ];
  const lines = [...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)];
  return { oldStart: 1, oldLines: before.length, newStart: 1, newLines: after.length, lines };
}

/** Pairs removed lines with the lines that replaced them, for a side-by-side view. */
export function pairLines(lines: readonly Line[]): LinePair[] {
  const pairs: LinePair[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    if (line.sign === " ") {
      pairs.push({ left: line, right: line });
      at += 1;
      continue;
    }
    const run = (sign: string, from: number) => {
      let end = from;
      while (lines[end]?.sign === sign) end += 1;
      return lines.slice(from, end);
    };
    const removed = run("-", at);
    const added = run("+", at + removed.length);
    for (let n = 0; n < Math.max(removed.length, added.length); n += 1)
      pairs.push({ left: removed[n] ?? null, right: added[n] ?? null });
    at += removed.length + added.length;
  }
  return pairs;
}
