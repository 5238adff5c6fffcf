import { expect, it } from "vitest";
import { checksTone, checksWords } from "./ChecksBadge";

const counts = (some: object) => ({ passed: 0, failed: 0, pending: 0, skipped: 0, threads: 0, ...some });

it("says what failed first, and what was merged only", () => {
  const open = { state: "open" as const };
  expect(checksWords({ ...open, counts: counts({ passed: 3, failed: 1, threads: 2 }) })).toBe(
    "1 failed, 2 open threads",
  );
  expect(checksWords({ ...open, counts: counts({ passed: 3 }) })).toBe("3 passed");
  expect(checksWords({ ...open, counts: counts({}) })).toBe("open");
  expect(checksWords({ state: "merged", counts: counts({ failed: 1 }) })).toBe("merged");
  expect(checksTone({ ...open, counts: counts({ failed: 1, threads: 1 }) })).toBe("failed");
  expect(checksTone({ ...open, counts: counts({ threads: 1, passed: 1 }) })).toBe("waiting");
  expect(checksTone({ ...open, counts: counts({ passed: 1 }) })).toBe("done");
});
