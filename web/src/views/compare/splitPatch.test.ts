import { describe, expect, it } from "vitest";
import { filesOf, splitByFile } from "./splitPatch";

const PATCH = `diff --git a/a.py b/a.py
index 1..2 100644
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-print("diff --git a/x b/x")
+++ b/not-a-name
diff --git a/old.py b/new.py
similarity index 100%
rename from old.py
rename to new.py
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/logo.png b/logo.png
new file mode 100644
Binary files /dev/null and b/logo.png differ
`;

describe("patches", () => {
  it("are cut by file, whatever their lines hold", () => {
    const files = splitByFile(PATCH);
    expect([...files.keys()]).toEqual(["a.py", "new.py", "gone.py", "logo.png"]);
    expect(files.get("a.py")).toContain("+++ b/not-a-name");
    expect([...files.values()].join("")).toBe(PATCH);
  });

  it("of two sessions name each file once", () => {
    expect(
      filesOf([
        splitByFile(PATCH),
        new Map([
          ["a.py", ""],
          ["0.py", ""],
        ]),
      ]),
    ).toEqual(["0.py", "a.py", "gone.py", "logo.png", "new.py"]);
    expect(splitByFile("")).toEqual(new Map());
  });
});
