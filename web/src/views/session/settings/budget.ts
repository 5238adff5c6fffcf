/** The budget of a tree in a form: four numbers, each of which may be left open. */
import type { components } from "@/api/schema";

type Budget = components["schemas"]["Budget"];
type Body = components["schemas"]["BudgetBody"];
type Used = components["schemas"]["Used"];

export type Limits = Record<"maxTurns" | "maxTokens" | "maxCost" | "maxMinutes", string>;

export const limitsOf = (budget: Budget | null): Limits => ({
  maxTurns: budget?.maxTurns?.toString() ?? "",
  maxTokens: budget?.maxTokens?.toString() ?? "",
  maxCost: budget?.maxCost?.toString() ?? "",
  maxMinutes: budget?.maxMinutes?.toString() ?? "",
});

/** What is sent, or which of them is no number. */
export function bodyOf(limits: Limits): { body: Body } | { wrong: keyof Limits } {
  const body: Body = {};
  for (const name of Object.keys(limits) as (keyof Limits)[]) {
    const text = limits[name].trim().replace(",", ".");
    const value = text === "" ? null : Number(text);
    if (value !== null && (!Number.isFinite(value) || value <= 0)) return { wrong: name };
    if (value !== null && (name === "maxTurns" || name === "maxTokens") && !Number.isInteger(value))
      return { wrong: name };
    body[name] = value;
  }
  return { body };
}

/** What has been used since the budget began. */
export const usedSince = (used: Used, budget: Budget | null) => ({
  maxTurns: used.turns - (budget?.baseTurns ?? 0),
  maxTokens: used.tokens - (budget?.baseTokens ?? 0),
  maxCost: used.cost - (budget?.baseCost ?? 0),
  maxMinutes: (used.seconds - (budget?.baseSeconds ?? 0)) / 60,
});
