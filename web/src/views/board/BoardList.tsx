/** The board as nested lists: repositories, worktrees, sessions. */
import { useMemo } from "react";
import type { Card } from "@/api/types";
import css from "./BoardList.module.css";
import { cardId } from "./canvas/cardLayout";
import { CardBody, CardHead } from "./card/Card";

export function BoardList({ cards, whole }: { cards: Card[]; whole: ReadonlySet<string> }) {
  const repos = useMemo(() => [...Map.groupBy(cards, (item) => item.repo.id).values()], [cards]);
  return (
    <ul className={css.repos} data-testid="board-list">
      {repos.map((group) => (
        <li key={group[0]!.repo.id}>
          <h2 className={css.repo}>{group[0]!.repo.name}</h2>
          <ul className={css.cards}>
            {group.map((card) => (
              <li key={cardId(card)} className={css.card}>
                <CardHead card={card} level="h3" />
                <CardBody card={card} whole={whole.has(cardId(card))} />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
