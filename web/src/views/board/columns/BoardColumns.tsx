/** The board as columns by state. */
import { useMemo } from "react";
import { useProgress } from "@/api/queries";
import type { Card } from "@/api/types";
import { cardId } from "@/views/board/canvas/cardLayout";
import { CardBody, CardHead } from "@/views/board/card/Card";
import css from "./BoardColumns.module.css";
import { COLUMNS, columnOf } from "./columnOf";

export function BoardColumns({ cards, whole }: { cards: Card[]; whole: ReadonlySet<string> }) {
  const progress = useProgress();
  const columns = useMemo(() => {
    const known = new Map(progress.map((item) => [item.worktreeId, item]));
    return Map.groupBy(cards, (card) => columnOf(card, known.get(card.worktree?.id ?? "")));
  }, [cards, progress]);
  return (
    <div className={css.columns} data-testid="board-columns">
      {COLUMNS.map(({ column, name, empty }) => {
        const inside = columns.get(column) ?? [];
        return (
          <section key={column} className={css.column} aria-label={name} data-column={column}>
            <h2 className={css.name}>
              {name}
              <span className={css.count}>{inside.length}</span>
            </h2>
            {inside.length === 0 && <p className={css.empty}>{empty}</p>}
            <ul className={css.cards}>
              {inside.map((card) => (
                <li key={cardId(card)} className={css.card}>
                  <CardHead card={card} level="h3" />
                  <CardBody card={card} whole={whole.has(cardId(card))} />
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </div>
  );
}
