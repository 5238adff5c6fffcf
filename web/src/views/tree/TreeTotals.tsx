/** Summarizes a tree and its usage in one line. */
import type { Tree } from "@/api/types";
import { duration, money, plural, tokens } from "@/lib/format";
import { Badge } from "@/ui/labels/Badge";
import css from "./TreeTotals.module.css";

const part = (used: number, most: number) => Math.min(100, Math.round((100 * used) / most));

/** Describes the most used limit of a tree's budget. */
export function describeBudget({ used, budget }: Pick<Tree, "used" | "budget">): string | null {
  if (!budget) return null;
  const bounds = [
    { words: "tokens", used: used.tokens - budget.baseTokens, most: budget.maxTokens, of: tokens },
    { words: "", used: used.cost - budget.baseCost, most: budget.maxCost, of: money },
    { words: "turns", used: used.turns - budget.baseTurns, most: budget.maxTurns, of: String },
    {
      words: "of agent time",
      used: used.seconds - budget.baseSeconds,
      most: budget.maxMinutes === null ? null : budget.maxMinutes * 60,
      of: duration,
    },
  ].filter((item) => item.most !== null);
  const tightest = bounds.sort((a, b) => b.used / b.most! - a.used / a.most!)[0];
  if (!tightest) return null;
  const { words, used: spent, most, of } = tightest;
  return (
    `${part(Math.max(0, spent), most!)} % of budget (${of(Math.max(0, spent))} of ${of(most!)} ${words}`.trimEnd() +
    ")"
  );
}

export function TreeTotals({ tree }: { tree: Tree }) {
  const budget = describeBudget(tree);
  return (
    <p className={css.totals}>
      <span>{plural(tree.used.sessions, "session")}</span>
      <span>{plural(tree.used.turns, "turn")}</span>
      <span>{tokens(tree.used.tokens)} tokens</span>
      <span>{money(tree.used.cost)}</span>
      {budget && <span>{budget}</span>}
      {tree.running > 0 && <Badge tone="running">{tree.running} working</Badge>}
      {tree.asking > 0 && <Badge tone="waiting">{plural(tree.asking, "approval")} needed</Badge>}
      {tree.queued > 0 && <Badge>{tree.queued} queued</Badge>}
    </p>
  );
}
