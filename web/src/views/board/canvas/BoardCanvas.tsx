/** The board as a canvas, on which cards are moved by mouse, touch or keys. */
import "@xyflow/react/dist/base.css";
import "@/views/canvas/canvas.css";
import { Background, MiniMap, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import type { Card } from "@/api/types";
import { useMedia } from "@/lib/media";
import { cardName } from "@/views/board/card/Card";
import { CanvasControls, FIT_VIEW_OPTIONS } from "@/views/canvas/CanvasControls";
import type { Point } from "@/views/tree/canvas/layout";
import css from "./BoardCanvas.module.css";
import { CardNode, type CardNodeType } from "./CardNode";
import { GRID_SIZE, snapToGrid } from "./cardLayout";
import { useCardNodes } from "./useCardNodes";

const NODE_TYPES = { card: CardNode };
const SNAP: [number, number] = [GRID_SIZE, GRID_SIZE];
const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};
/** Milliseconds after the last key press until the move is saved. */
const PAUSE = 500;
const FAR = 5;
/** With more cards than this, spinners do not move. */
const MANY = 30;

export interface BoardCanvasProps {
  boardId: string;
  cards: Card[];
  whole: ReadonlySet<string>;
  /** Called when a card was dropped; resolves when the server has saved it. */
  onMove: (card: Card, at: Point) => Promise<boolean>;
}

export const BoardCanvas = (props: BoardCanvasProps) => (
  <ReactFlowProvider>
    <Canvas key={props.boardId} {...props} />
  </ReactFlowProvider>
);

function Canvas({ boardId, cards, whole, onMove }: BoardCanvasProps) {
  const wide = useMedia("(min-width: 48rem)");
  const { nodes, onNodesChange, hold, release } = useCardNodes(cards, whole);
  const { fitView, getNode } = useReactFlow<CardNodeType>();
  const [announcement, setAnnouncement] = useState("");
  // One per card, since moving another card ends the move of the first.
  const timers = useRef(new Map<string, ReturnType<typeof setTimeout>>());
  const ready = nodes.length > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once, when the first cards appear
  useEffect(() => {
    if (!ready) return;
    const frame = requestAnimationFrame(
      () => void fitView({ ...FIT_VIEW_OPTIONS, minZoom: 0.5, duration: 0 }),
    );
    return () => cancelAnimationFrame(frame);
  }, [ready, boardId]);

  const save = async (node: CardNodeType) => {
    await onMove(node.data.card, { x: snapToGrid(node.position.x), y: snapToGrid(node.position.y) });
    release(node.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const id = (event.target as HTMLElement).dataset.move;
    const way = ARROWS[event.key];
    const node = id && way && getNode(id);
    if (!node || !way) return;
    event.preventDefault();
    event.stopPropagation();
    const step = GRID_SIZE * (event.shiftKey ? FAR : 1);
    const at = {
      x: snapToGrid(node.position.x) + way[0] * step,
      y: snapToGrid(node.position.y) + way[1] * step,
    };
    hold(node.id, at);
    setAnnouncement(`${cardName(node.data.card)} moved to ${at.x}, ${at.y}`);
    clearTimeout(timers.current.get(id));
    timers.current.set(
      id,
      setTimeout(() => void save({ ...node, position: at }), PAUSE),
    );
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only handles events of the cards' handles
    <div
      className={css.canvas}
      onKeyDown={onKeyDown}
      data-many={cards.length > MANY || undefined}
      data-testid="board-canvas"
    >
      <ReactFlow<CardNodeType>
        nodes={nodes}
        onNodesChange={onNodesChange}
        onNodeDragStop={(_, node) => void save(node)}
        nodeTypes={NODE_TYPES}
        nodesConnectable={false}
        nodesFocusable={false}
        elementsSelectable={false}
        onlyRenderVisibleElements
        snapToGrid
        snapGrid={SNAP}
        minZoom={0.1}
        maxZoom={1.5}
        panOnScroll
        zoomOnDoubleClick={false}
        aria-label="Board of worktrees"
      >
        <Background gap={GRID_SIZE * 2} />
        <CanvasControls />
        {wide && nodes.length > 20 && <MiniMap pannable zoomable ariaLabel="Map of the board" />}
      </ReactFlow>
      <p className="visually-hidden" role="status" aria-live="polite">
        {announcement}
      </p>
    </div>
  );
}
