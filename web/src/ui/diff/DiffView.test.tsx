/** Tests the parsing of patches, and that added lines are not marked by color alone. */
import { cleanup, fireEvent, render } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { DiffView, TextDiff } from "./DiffView";
import { fileOf, pairLines, parsePatch, unquote } from "./parsePatch";

afterEach(cleanup);

const PATCH = `diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,4 +1,4 @@ def f():
 one
-two
---- looks like a header
+zwei
++++ so does this
 four
@@ -10 +10,2 @@
-ten
\\ No newline at end of file
+ten
+eleven
diff --git a/old name.txt b/new name.txt
similarity index 90%
rename from old name.txt
rename to new name.txt
diff --git a/pic.png b/pic.png
new file mode 100644
Binary files /dev/null and b/pic.png differ
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git "a/\\303\\244 b.txt" "b/\\303\\244 b.txt"
old mode 100644
new mode 100755
diff --git a/empty file b/empty file
new file mode 100644
`;

describe("git patches", () => {
  const files = parsePatch(PATCH);

  it("finds files and their status", () => {
    expect(files.map(({ path, oldPath, status, binary }) => [path, oldPath, status, binary])).toEqual([
      ["src/a.py", null, "modified", false],
      ["new name.txt", "old name.txt", "renamed", false],
      ["pic.png", null, "added", true],
      ["gone.txt", null, "deleted", false],
      ["ä b.txt", null, "mode", false],
      ["empty file", null, "added", false],
    ]);
  });

  it("counts and numbers lines, even those that look like headers", () => {
    const [file] = files;
    expect([file?.additions, file?.deletions]).toEqual([4, 3]);
    expect(
      file?.hunks.map((hunk) =>
        hunk.lines.map((line) => `${line.old ?? ""}|${line.new ?? ""}|${line.sign}${line.text}`),
      ),
    ).toEqual([
      ["1|1| one", "2||-two", "3||---- looks like a header", "|2|+zwei", "|3|++++ so does this", "4|4| four"],
      ["10||-ten", "|10|+ten", "|11|+eleven"],
    ]);
  });

  it("reads plain and truncated patches", () => {
    const plain = parsePatch(
      "--- x.txt\n+++ x.txt\n@@ -1 +1 @@\n-a\n+b\n--- y.txt\n+++ y.txt\n@@ -1,9 +1,9 @@\n a\n+b",
    );
    expect(plain.map(({ path, additions, deletions }) => [path, additions, deletions])).toEqual([
      ["x.txt", 1, 1],
      ["y.txt", 1, 0],
    ]);
    expect(parsePatch("")).toEqual([]);
    expect(parsePatch("no patch at all")).toEqual([]);
  });

  it("unquotes names", () => {
    expect(unquote('"a\\tb\\"c\\\\"')).toBe('a\tb"c\\');
    expect(unquote("plain")).toBe("plain");
  });
});

describe("two texts", () => {
  it("are compared with three lines of context", () => {
    const before = Array.from({ length: 20 }, (_, n) => `${n}`).join("\n");
    const file = fileOf("f.txt", before, before.replace("10", "ten"));
    expect([file.additions, file.deletions, file.hunks.length]).toEqual([1, 1, 1]);
    expect(file.hunks[0]?.lines.length).toBe(8);
    expect(fileOf("f", null, "a\nb\n")).toMatchObject({ status: "added", additions: 2, deletions: 0 });
    expect(fileOf("f", "a", "a").hunks).toEqual([]);
  });

  it("are shown one after the other if they have too little in common", () => {
    const linesOf = (word: string) => Array.from({ length: 4000 }, (_, n) => `${word} ${n}`).join("\n");
    expect(fileOf("f", linesOf("a"), linesOf("b"))).toMatchObject({ additions: 4000, deletions: 4000 });
  });

  it("can be paired side by side", () => {
    const { lines } = fileOf("f", "a\nb\nc\nd", "a\nB\nc\nd\ne").hunks[0]!;
    expect(pairLines(lines).map(({ left, right }) => [left?.text, right?.text])).toEqual([
      ["a", "a"],
      ["b", "B"],
      ["c", "c"],
      ["d", "d"],
      [undefined, "e"],
    ]);
  });
});

describe("on the page", () => {
  it("labels added and removed lines, and collapses files", () => {
    const { container, getByRole } = render(<DiffView patch={PATCH} />);
    expect(container.textContent).toContain("added: zwei");
    expect(container.textContent).toContain("removed: two");
    expect(container.textContent).toContain("File renamed without changes.");
    fireEvent.click(getByRole("button", { name: /src\/a\.py/ }));
    expect(container.textContent).not.toContain("zwei");
  });

  it("collapses a large file", () => {
    const long = Array.from({ length: 500 }, (_, n) => `${n}`).join("\n");
    const { getByRole } = render(<TextDiff path="f" oldText={null} newText={long} />);
    expect(getByRole("button", { name: /^f/ }).getAttribute("aria-expanded")).toBe("false");
  });

  it("has two columns when split", () => {
    const { container } = render(<TextDiff path="f" oldText="a" newText="b" split />);
    expect(container.querySelectorAll("tr:last-child td").length).toBe(4);
  });
});
