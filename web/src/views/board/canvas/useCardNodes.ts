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
    .map((one) => `${cardId(one)} ${one.x} ${one.y} ${cardHeight(one, whole.has(cardId(one)))}`)
    .join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: as said above
  const places = useMemo(() => layOutCards(cards, whole), [shape]);
  const held = useRef(new Map<string, Point>());
  const [nodes, setNodes] = useState<CardNodeType[]>([]);

  useEffect(() => {
    setNodes((known) => {
      const old = new Map(known.map((one) => [one.id, one]));
      return cards.map((card): CardNodeType => {
        const id = cardId(card);
        const height = cardHeight(card, whole.has(id));
        const position = held.current.get(id) ?? places.get(id)!;
        const one = old.get(id);
        const same = one && one.data.card === card && one.data.whole === whole.has(id);
        if (same && one.height === height && one.position.x === position.x && one.position.y === position.y)
          return one;
        return {
          ...one,
          id,
          type: "card",
          dragHandle: ".board-drag",
          position,
          data: same ? one.data : { card, whole: whole.has(id) },
          width: CARD_WIDTH,
          height,
          measured: { width: CARD_WIDTH, height },
        };
      });
    });
  }, [cards, places, whole]);

  const onNodesChange = useCallback((changes: NodeChange<CardNodeType>[]) => {
    const moves = changes.filter((one) => one.type === "position");
    for (const one of moves) if (one.position) held.current.set(one.id, one.position);
    if (moves.length) setNodes((known) => applyNodeChanges(moves, known));
  }, []);
  /** Positions a card until the server has saved it. */
  const hold = useCallback((id: string, position: Point) => {
    held.current.set(id, position);
    setNodes((known) => known.map((one) => (one.id === id ? { ...one, position } : one)));
  }, []);
  const release = useCallback((id: string) => held.current.delete(id), []);
  return { nodes, onNodesChange, hold, release };
}
