/** Turns cards into canvas nodes. A node stays the same object until its card, size or position changes; while it is moved,
 * its local position wins over the server's. */
import { applyNodeChanges, type NodeChange } from "@xyflow/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Card } from "@/api/types";
import type { Point } from "@/views/tree/canvas/layout";
import type { CardNodeType } from "./CardNode";
import { CARD_WIDTH, cardHeight, cardId, layOutCards } from "./cardLayout";

export function useCardNodes(cards: Card[], whole: ReadonlySet<string>) {
  // Positions depend on which cards there are, their sizes and saved positions, not on the state of sessions.
  const shape = cards
    .map((card) => `${cardId(card)} ${card.x} ${card.y} ${cardHeight(card, whole.has(cardId(card)))}`)
    .join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: as said above
  const places = useMemo(() => layOutCards(cards, whole), [shape]);
  const held = useRef(new Map<string, Point>());
  const [nodes, setNodes] = useState<CardNodeType[]>([]);

  useEffect(() => {
    setNodes((known) => {
      const old = new Map(known.map((node) => [node.id, node]));
      return cards.map((card): CardNodeType => {
        const id = cardId(card);
        const height = cardHeight(card, whole.has(id));
        const position = held.current.get(id) ?? places.get(id)!;
        const item = old.get(id);
        const same = item && item.data.card === card && item.data.whole === whole.has(id);
        if (
          same &&
          item.height === height &&
          item.position.x === position.x &&
          item.position.y === position.y
        )
          return item;
        return {
          ...item,
          id,
          type: "card",
          dragHandle: ".board-drag",
          position,
          data: same ? item.data : { card, whole: whole.has(id) },
          width: CARD_WIDTH,
          height,
          measured: { width: CARD_WIDTH, height },
        };
      });
    });
  }, [cards, places, whole]);

  const onNodesChange = useCallback((changes: NodeChange<CardNodeType>[]) => {
    const moves = changes.filter((nodeChange) => nodeChange.type === "position");
    for (const item of moves) if (item.position) held.current.set(item.id, item.position);
    if (moves.length) setNodes((known) => applyNodeChanges(moves, known));
  }, []);
  /** Positions a card until the server has saved it. */
  const hold = useCallback((id: string, position: Point) => {
    held.current.set(id, position);
    setNodes((known) => known.map((node) => (node.id === id ? { ...node, position } : node)));
  }, []);
  const release = useCallback((id: string) => held.current.delete(id), []);
  return { nodes, onNodesChange, hold, release };
}
