import { expect, it } from "vitest";
import { dayName, niceCeiling } from "./measures";

it("ends a scale at a round number", () => {
  expect([0, 1, 3, 7, 12, 480, 5000, 81_000].map((most) => niceCeiling(most, "tokens"))).toEqual([
    0, 1, 5, 10, 20, 500, 5000, 100_000,
  ]);
  expect(niceCeiling(0.3, "cost")).toBeCloseTo(0.5);
  expect(niceCeiling(0.3, "turns")).toBe(1);
});

it("names a day by its date", () => {
  expect(dayName("2026-11-01")).toMatch(/\b1\b/);
});
