/** A tree on a canvas; arrow keys move between its sessions. */
import "@xyflow/react/dist/base.css";
import "@/views/canvas/canvas.css";
import { Background, MiniMap, Panel, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, type MouseEvent, useEffect, useMemo, useRef, useState } from "react";
import type { Callback, Node, RaceBrief } from "@/api/types";
import { useMedia } from "@/lib/media";
import { displayState } from "@/lib/words";
import { CanvasControls, FIT_VIEW_OPTIONS } from "@/views/canvas/CanvasControls";
import { buildTree } from "@/views/tree/lineage";
import { originEdges, reportEdges } from "./edges";
import { Legend } from "./Legend";
import { type LayoutDirection, layOutTree, NODE_SIZE, neighbor } from "./layout";
import { type SessionFlowNode, SessionNode } from "./SessionNode";
import css from "./TreeCanvas.module.css";
import { Arrowheads, TreeEdge } from "./TreeEdge";
import { useSessionNodes } from "./useSessionNodes";

const NODE_TYPES = { session: SessionNode };
const EDGE_TYPES = { treeEdge: TreeEdge };
/** With more sessions than this, only visible ones are rendered. */
const MANY = 120;
/** With fewer sessions than this, a minimap is of no use. */
const MAPPED = 12;

export interface TreeCanvasProps {
  nodes: Node[];
  callbacks: Callback[];
  races: RaceBrief[];
  numbers: Map<string, number>;
  /** The session in the drawer, and those to compare. */
  open: string | null;
  picked: string[] | null;
  start: string;
  onChoose: (sessionId: string) => void;
  onOpen: (sessionId: string) => void;
}

export const TreeCanvas = (props: TreeCanvasProps) => (
  <ReactFlowProvider>
    <Canvas {...props} />
  </ReactFlowProvider>
);

const idUnder = (target: EventTarget) =>
  (target as HTMLElement).closest<HTMLElement>("[data-session]")?.dataset.session;

function Canvas({
  nodes,
  callbacks,
  races,
  numbers,
  open,
  picked,
  start,
  onChoose,
  onOpen,
}: TreeCanvasProps) {
  const wide = useMedia("(min-width: 48rem)");
  const flow: LayoutDirection = wide ? "right" : "down";
  const [current, setCurrent] = useState(start);
  const shape = nodes
    .map((node) => `${node.id}${node.kind}${node.parentSessionId}${node.forkedFromSessionId}`)
    .join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: positions change with the shape of the tree, not with the state of sessions
  const places = useMemo(() => layOutTree(buildTree(nodes), flow), [shape, flow]);
  const focus = nodes.some((node) => node.id === current) ? current : (nodes[0]?.id ?? "");
  const flowNodes = useSessionNodes({ nodes, places, flow, current: focus, open, picked, races });
  const edges = useMemo(
    () => [...originEdges(nodes, numbers), ...reportEdges(nodes, callbacks)],
    [nodes, numbers, callbacks],
  );
  const { fitView, setCenter, setViewport, getZoom, getViewport } = useReactFlow();
  const box = useRef<HTMLDivElement>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: fits the view when the tree has grown
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      if (wide) return void fitView(FIT_VIEW_OPTIONS);
      // On a phone, the tree is as wide as the screen and scrolls down.
      const right = Math.max(...[...places.values()].map((at) => at.x)) + NODE_SIZE.width;
      const zoom = Math.min(1, Math.max(0.6, (box.current?.clientWidth ?? right) / (right + 32)));
      void setViewport({ x: 16 * zoom, y: 16, zoom });
    });
    return () => cancelAnimationFrame(frame);
  }, [shape, flow, fitView]);

  const onKeyDown = (event: KeyboardEvent) => {
    const from = idUnder(event.target);
    if (!from || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "o") return onOpen(from);
    const next = neighbor(nodes, places, from, event.key, flow);
    if (event.key.startsWith("Arrow")) event.preventDefault();
    if (!next) return;
    setCurrent(next);
    const at = places.get(next)!;
    const { x, y, zoom } = getViewport();
    const [left, top] = [at.x * zoom + x, at.y * zoom + y];
    const { clientWidth = 0, clientHeight = 0 } = box.current ?? {};
    const hidden =
      left < 0 ||
      top < 0 ||
      left + NODE_SIZE.width * zoom > clientWidth ||
      top + NODE_SIZE.height * zoom > clientHeight;
    if (hidden)
      void setCenter(at.x + NODE_SIZE.width / 2, at.y + NODE_SIZE.height / 2, {
        zoom: getZoom(),
        duration: 150,
      });
    // The node may have to be rendered first.
    requestAnimationFrame(() =>
      requestAnimationFrame(() =>
        box.current?.querySelector<HTMLElement>(`[data-session="${next}"]`)?.focus({ preventScroll: true }),
      ),
    );
  };
  const onClick = (event: MouseEvent) => {
    const id = idUnder(event.target);
    if (!id) return;
    setCurrent(id);
    onChoose(id);
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only handles events of its buttons
    <div
      ref={box}
      className={css.canvas}
      onKeyDown={onKeyDown}
      onClick={onClick}
      data-many={nodes.length > MANY || undefined}
      data-testid="tree-canvas"
    >
      <Arrowheads />
      {!wide && <Legend />}
      <ReactFlow<SessionFlowNode>
        nodes={flowNodes}
        edges={edges as never}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        elementsSelectable={false}
        onlyRenderVisibleElements={nodes.length > MANY}
        minZoom={0.15}
        maxZoom={1.75}
        panOnScroll
        aria-label="Tree of sessions. Move with the arrow keys, open with Enter."
      >
        <Background gap={24} />
        <CanvasControls />
        {wide && (
          <Panel position="top-left">
            <Legend />
          </Panel>
        )}
        {wide && !open && nodes.length > MAPPED && (
          <MiniMap<SessionFlowNode>
            pannable
            zoomable
            ariaLabel="Map of the tree"
            nodeClassName={(item) => css[`map-${displayState(item.data.session)}`] ?? ""}
          />
        )}
      </ReactFlow>
    </div>
  );
}
