/** Tests how comments are placed among the lines of a diff, and how changed words are marked. */
import { describe, expect, it } from "vitest";
import type { ReviewComment } from "@/api/types";
import { parsePatch } from "@/ui/diff/parsePatch";
import { extended, oneLine, rangeName, rowsOf } from "./diffModel";
import { changedRanges, marked } from "./lineText";

const FILE = parsePatch(`diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,3 +1,3 @@
 one
-return value + 5
+return value + five
 three
`)[0]!;

const comment = (id: string, side: "old" | "new", lastLine: number | null) =>
  ({ id, side, line: lastLine, lastLine, path: "a.py" }) as ReviewComment;

describe("rows", () => {
  it("have comments below their lines, and the box below the chosen ones", () => {
    const comments = [comment("a", "new", 2), comment("b", "old", 2), comment("c", "new", null)];
    const { rows, elsewhere } = rowsOf(FILE, false, comments, { side: "new", start: 1, end: 1 });
    expect(rows.map(({ kind }) => kind)).toEqual([
      "hunk",
      "line",
      "editor",
      "line",
      "comments",
      "line",
      "comments",
      "line",
    ]);
    expect(elsewhere.map(({ id }) => id)).toEqual(["c"]);
  });

  it("pair removed and added lines side by side", () => {
    const { rows } = rowsOf(FILE, true, [comment("a", "new", 2)], null);
    expect(rows.map(({ kind }) => kind)).toEqual(["hunk", "pair", "pair", "comments", "pair"]);
  });
});

describe("ranges", () => {
  const [one, removed, added, three] = FILE.hunks[0]!.lines;

  it("grow on one side and start over on the other", () => {
    const range = extended(oneLine(one!), three!);
    expect(range).toEqual({ side: "new", start: 1, end: 3 });
    expect(rangeName(range!)).toBe("lines 1–3");
    expect(extended(range, removed!)).toEqual({ side: "old", start: 2, end: 2 });
  });

  it("mark the words that changed", () => {
    expect(changedRanges(added!, removed!)).toEqual([[15, 19]]);
    expect(changedRanges(added!, null)).toEqual([]);
    expect(changedRanges({ ...added!, text: "nothing in common" }, { ...removed!, text: "xyz" })).toEqual([]);
    expect(marked([{ text: "ab", syntax: "k" }, { text: "cd" }], [[1, 3]])).toEqual([
      { text: "a", syntax: "k", changed: false },
      { text: "b", syntax: "k", changed: true },
      { text: "c", changed: true },
      { text: "d", changed: false },
    ]);
  });
});
