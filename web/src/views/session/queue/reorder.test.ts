import { describe, expect, it } from "vitest";
import type { Task } from "@/api/types";
import { beforeAfterDrop, beforeAfterStep, reordered } from "./reorder";

describe("the queue", () => {
  const queue = ["t1", "t2", "t3"].map((id) => ({ id }) as Task);
  const ids = (tasks: Task[]) => tasks.map(({ id }) => id).join("");

  it.each([
    ["t2", -1, "t1", "t2t1t3"],
    ["t1", 1, "t3", "t2t1t3"],
    ["t2", 1, "", "t1t3t2"],
  ] as const)("moves %s by %i", (id, by, before, order) => {
    expect(beforeAfterStep(queue, id, by)).toBe(before);
    expect(ids(reordered(queue, id, before))).toBe(order);
  });

  it.each([
    ["t1", "t3", "", "t2t3t1"],
    ["t3", "t1", "t1", "t3t1t2"],
    ["t1", "t2", "t3", "t2t1t3"],
  ] as const)("drops %s onto %s", (id, onto, before, order) => {
    expect(beforeAfterDrop(queue, id, onto)).toBe(before);
    expect(ids(reordered(queue, id, before))).toBe(order);
  });

  it("stays as it is at its ends", () => {
    expect(beforeAfterStep(queue, "t1", -1)).toBeNull();
    expect(beforeAfterStep(queue, "t3", 1)).toBeNull();
    expect(beforeAfterDrop(queue, "t1", "t1")).toBeNull();
  });

  it("keeps its order if one of the tasks is gone", () => {
    expect(ids(reordered(queue, "t1", "t9"))).toBe("t1t2t3");
    expect(ids(reordered(queue, "t9", "t1"))).toBe("t1t2t3");
  });
});
