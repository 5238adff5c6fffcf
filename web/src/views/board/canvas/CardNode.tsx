/** A card on the canvas, dragged by its header or moved by arrow keys on its handle. */
import type { Node as FlowNode, NodeProps } from "@xyflow/react";
import { GripVertical } from "lucide-react";
import { memo } from "react";
import type { Card } from "@/api/types";
import { CardBody, CardHead, cardName } from "@/views/board/card/Card";
import css from "./CardNode.module.css";

export interface CardData extends Record<string, unknown> {
  card: Card;
  whole: boolean;
}
export type CardNodeType = FlowNode<CardData, "card">;

export const CardNode = memo(function CardNode({ data, dragging, height }: NodeProps<CardNodeType>) {
  const { card, whole } = data;
  return (
    <article
      className={css.card}
      style={{ height }}
      data-dragging={dragging || undefined}
      aria-label={cardName(card)}
    >
      <div className={`${css.drag} board-drag`}>
        <CardHead
          card={card}
          handle={
            <button
              type="button"
              className={css.grip}
              data-move={card.worktree?.id ?? `repo:${card.repo.id}`}
              aria-label={`Move ${cardName(card)} with arrow keys`}
            >
              <GripVertical aria-hidden />
            </button>
          }
        />
      </div>
      <CardBody card={card} whole={whole} />
    </article>
  );
});
