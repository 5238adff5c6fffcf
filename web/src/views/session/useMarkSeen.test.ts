import { expect, it } from "vitest";
import type { Task } from "@/api/types";
import { lastTurnEnd } from "./useMarkSeen";

it("finds when the latest turn ended", () => {
  const task = (endedAt: string | null) => ({ endedAt }) as Task;
  expect(lastTurnEnd([])).toBe("");
  expect(lastTurnEnd([task("2026-02"), task("2026-01"), task(null)])).toBe("2026-02");
});
