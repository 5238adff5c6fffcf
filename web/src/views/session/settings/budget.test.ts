import { expect, it } from "vitest";
import { limitsOf, parseLimits, usedMinutes, usedSince } from "./budget";

it("parses limits and rejects anything that is not a number", () => {
  const empty = limitsOf(null);
  expect(parseLimits(empty)).toEqual({
    body: { maxTurns: null, maxTokens: null, maxCost: null, maxMinutes: null },
  });
  expect(parseLimits({ ...empty, maxCost: "1,5" })).toMatchObject({ body: { maxCost: 1.5 } });
  expect(parseLimits({ ...empty, maxTurns: "1.5" })).toEqual({ invalid: "maxTurns" });
  expect(parseLimits({ ...empty, maxTokens: "many" })).toEqual({ invalid: "maxTokens" });
  const used = { turns: 5, tokens: 10, cost: 2, seconds: 120, sessions: 1 };
  const budget = { baseTurns: 2, baseTokens: 0, baseCost: 1, baseSeconds: 60 } as Parameters<
    typeof usedSince
  >[1];
  expect(usedSince(used, budget)).toEqual({ maxTurns: 3, maxTokens: 10, maxCost: 1, maxMinutes: 1 });
});

it("rounds used minutes down, but not to zero", () => {
  expect([0, 0.015, 1, 12.9].map(usedMinutes)).toEqual(["0", "<1", "1", "12"]);
});
