/** What a chart of usage can measure, and its scale. */
import type { components } from "@/api/schema";
import { money, tokens } from "@/lib/format";

export type UsageGroup = components["schemas"]["UsageGroup"];
export type Measure = "tokens" | "cost" | "turns";

interface MeasureOf {
  label: string;
  read: (group: UsageGroup) => number;
  show: (value: number) => string;
}

export const MEASURES: Record<Measure, MeasureOf> = {
  tokens: { label: "Tokens", read: (group) => group.tokens, show: tokens },
  cost: { label: "Cost", read: (group) => group.cost, show: (value) => money(value) },
  turns: { label: "Turns", read: (group) => group.turns, show: (value) => `${value}` },
};

/** Returns the round number at the top of a scale: 1, 2 or 5 times a power of ten. Counts are at least 1. */
export function niceCeiling(most: number, measure: Measure): number {
  if (most <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(most));
  const nice = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= most * 0.999999)!;
  return measure === "cost" ? nice : Math.max(1, Math.round(nice));
}

/** Names a day such as `2026-11-15` as people read it, whatever the browser's time zone is. */
export const dayName = (day: string): string =>
  new Date(`${day}T12:00:00`).toLocaleDateString(undefined, { day: "numeric", month: "short" });
