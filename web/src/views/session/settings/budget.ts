/** Converts a tree's budget to and from the texts of its form. A blank field means no limit. */
import type { components } from "@/api/schema";

type Budget = components["schemas"]["Budget"];
type Body = components["schemas"]["BudgetBody"];
type TreeUsage = components["schemas"]["TreeUsage"];

export type Limits = Record<"maxTurns" | "maxTokens" | "maxCost" | "maxMinutes", string>;

export const limitsOf = (budget: Budget | null): Limits => ({
  maxTurns: budget?.maxTurns?.toString() ?? "",
  maxTokens: budget?.maxTokens?.toString() ?? "",
  maxCost: budget?.maxCost?.toString() ?? "",
  maxMinutes: budget?.maxMinutes?.toString() ?? "",
});

/** Returns the request's body, or the name of the first invalid field. */
export function parseLimits(limits: Limits): { body: Body } | { invalid: keyof Limits } {
  const body: Body = {};
  for (const name of Object.keys(limits) as (keyof Limits)[]) {
    const text = limits[name].trim().replace(",", ".");
    const value = text === "" ? null : Number(text);
    if (value !== null && (!Number.isFinite(value) || value <= 0)) return { invalid: name };
    if (value !== null && (name === "maxTurns" || name === "maxTokens") && !Number.isInteger(value))
      return { invalid: name };
    body[name] = value;
  }
  return { body };
}

/** Returns what has been used since the budget was set. */
export const usedSince = (used: TreeUsage, budget: Budget | null) => ({
  maxTurns: used.turns - (budget?.baseTurns ?? 0),
  maxTokens: used.tokens - (budget?.baseTokens ?? 0),
  maxCost: used.cost - (budget?.baseCost ?? 0),
  maxMinutes: (used.seconds - (budget?.baseSeconds ?? 0)) / 60,
});

/** Formats used minutes: whole ones, or "<1" for less than one. */
export const usedMinutes = (minutes: number): string =>
  minutes > 0 && minutes < 1 ? "<1" : Math.floor(minutes).toLocaleString();
