/** A tree on a canvas; arrow keys move between its sessions. */
import "@xyflow/react/dist/base.css";
import "@/views/canvas/canvas.css";
import { Background, MiniMap, Panel, ReactFlow, ReactFlowProvider, useReactFlow } from "@xyflow/react";
import { type KeyboardEvent, type MouseEvent, useMemo, useRef, useState } from "react";
import type { Callback, Node, RaceBrief } from "@/api/types";
import { useMedia } from "@/lib/media";
import { displayState } from "@/lib/words";
import { CanvasControls } from "@/views/canvas/CanvasControls";
import { isFold, type Shown } from "@/views/tree/foldFinished";
import { type TreeBranch, walk } from "@/views/tree/lineage";
import { foldEdges, originEdges, reportEdges } from "./edges/edges";
import { Arrowheads, TreeEdge } from "./edges/TreeEdge";
import { Legend } from "./Legend";
import { heightOf, type LayoutDirection, layOutTree, NODE_SIZE, neighbor } from "./layout";
import { type FoldFlowNode, FoldNode } from "./nodes/FoldNode";
import { type SessionFlowNode, SessionNode } from "./nodes/SessionNode";
import { useFoldNodes, useSessionNodes } from "./nodes/useSessionNodes";
import css from "./TreeCanvas.module.css";
import { useFirstView } from "./useFirstView";

const NODE_TYPES = { session: SessionNode, fold: FoldNode };
const EDGE_TYPES = { treeEdge: TreeEdge };
/** With more sessions than this, only visible ones are rendered. */
const MANY = 120;
/** With fewer sessions than this, a minimap is of no use. */
const MAPPED = 12;

export interface TreeCanvasProps {
  branches: TreeBranch<Shown>[];
  callbacks: Callback[];
  races: RaceBrief[];
  numbers: Map<string, number>;
  /** The session in the drawer, and those to compare. */
  open: string | null;
  picked: string[] | null;
  start: string;
  /** The sessions from the root to the one that matters most, around which a large tree is shown. */
  path: string[];
  onChoose: (sessionId: string) => void;
  onUnfold: (sessionId: string) => void;
  onOpen: (sessionId: string) => void;
}

export const TreeCanvas = (props: TreeCanvasProps) => (
  <ReactFlowProvider>
    <Canvas {...props} />
  </ReactFlowProvider>
);

/** Returns the id of the session or fold under the pointer or focus. */
function idUnder(target: EventTarget): string | undefined {
  const { session, fold } =
    (target as HTMLElement).closest<HTMLElement>("[data-session], [data-fold]")?.dataset ?? {};
  return session ?? fold;
}

function Canvas({
  branches,
  callbacks,
  races,
  numbers,
  open,
  picked,
  start,
  path,
  onChoose,
  onUnfold,
  onOpen,
}: TreeCanvasProps) {
  const wide = useMedia("(min-width: 48rem)");
  const flow: LayoutDirection = wide ? "right" : "down";
  const [current, setCurrent] = useState(start);
  const items = useMemo(() => [...walk(branches)].map(([item]) => item), [branches]);
  const nodes = useMemo(() => items.filter((item): item is Node => !isFold(item)), [items]);
  const folds = useMemo(() => items.filter(isFold), [items]);
  const shape = items
    .map(
      (item) => `${item.id}${item.kind}${item.parentSessionId}${item.forkedFromSessionId}${heightOf(item)}`,
    )
    .join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: positions change with the shape of the tree, not with the state of sessions
  const places = useMemo(() => layOutTree(branches, flow, heightOf), [shape, flow]);
  const focus = items.some((item) => item.id === current) ? current : (items[0]?.id ?? "");
  const sessionNodes = useSessionNodes({ nodes, places, flow, current: focus, open, picked, races });
  const foldNodes = useFoldNodes(folds, places, flow, focus);
  const flowNodes = useMemo(() => [...sessionNodes, ...foldNodes], [sessionNodes, foldNodes]);
  const edges = useMemo(
    () => [...originEdges(nodes, numbers), ...foldEdges(folds), ...reportEdges(nodes, callbacks)],
    [nodes, numbers, folds, callbacks],
  );
  const { setCenter, getZoom, getViewport } = useReactFlow();
  const box = useRef<HTMLDivElement>(null);
  const onMoved = useFirstView({ box, items, places, path, open, wide });

  const onKeyDown = (event: KeyboardEvent) => {
    const from = idUnder(event.target);
    if (!from || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "o" && nodes.some((node) => node.id === from)) return onOpen(from);
    const next = neighbor(items, places, from, event.key, flow);
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
        box.current
          ?.querySelector<HTMLElement>(`[data-session="${next}"], [data-fold="${next}"]`)
          ?.focus({ preventScroll: true }),
      ),
    );
  };
  const onClick = (event: MouseEvent) => {
    const id = idUnder(event.target);
    if (!id) return;
    const fold = folds.find((item) => item.id === id);
    setCurrent(fold?.foldedBelow ?? id);
    if (fold) onUnfold(fold.foldedBelow);
    else onChoose(id);
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
      <ReactFlow<SessionFlowNode | FoldFlowNode>
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
        // Without an event, the page moved it.
        onMoveStart={(event) => event && onMoved()}
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
          <MiniMap<SessionFlowNode | FoldFlowNode>
            pannable
            zoomable
            ariaLabel="Map of the tree"
            nodeClassName={(item) =>
              item.type === "session" ? (css[`map-${displayState(item.data.session)}`] ?? "") : ""
            }
          />
        )}
      </ReactFlow>
    </div>
  );
}
