import { expect, it } from "vitest";
import { contextUsage } from "./ContextGauge";

it("reads the context usage, and nothing from half of it", () => {
  expect(contextUsage({ used: 50, size: 200 })?.share).toBe(0.25);
  expect(contextUsage({ used: 300, size: 200 })?.share).toBe(1);
  expect(contextUsage({ used: 50 })).toBeNull();
  expect(contextUsage(null)).toBeNull();
});
