/** Computes the positions of sessions on the canvas, and their neighbors for the arrow keys. */
import { hierarchy, tree as tidy } from "d3-hierarchy";
import { originOf, type TreeBranch, type TreeFields, walk } from "@/views/tree/lineage";

export type LayoutDirection = "right" | "down";
export interface Point {
  x: number;
  y: number;
}

export const NODE_SIZE = { width: 264, height: 104 };
const GAP = { along: 132, across: 28 };
/** On a phone, sessions are stacked like a list. */
const STEP = { x: 32, y: NODE_SIZE.height + 24 };

/** Returns the top left corners by id. `right` puts generations into columns, `down` makes an indented list. */
export function layOutTree<T extends TreeFields>(
  roots: TreeBranch<T>[],
  flow: LayoutDirection,
): Map<string, Point> {
  if (flow === "down")
    return new Map(
      [...walk(roots)].map(([item, depth], at) => [item.id, { x: depth * STEP.x, y: at * STEP.y }]),
    );
  const along = NODE_SIZE.width + GAP.along;
  // Several roots, whose common root was removed, get an invisible one.
  const above = hierarchy<{ node?: T; children: TreeBranch<T>[] }>(
    roots.length === 1 ? roots[0]! : { children: roots },
  );
  tidy<{ node?: T; children: TreeBranch<T>[] }>().nodeSize([NODE_SIZE.height + GAP.across, along])(above);
  const skipped = roots.length === 1 ? 0 : along;
  const positions = new Map<string, Point>();
  above.each((hierarchyNode) => {
    const { x = 0, y = 0 } = hierarchyNode;
    if (hierarchyNode.data.node)
      positions.set(hierarchyNode.data.node.id, { x: y - skipped, y: x - NODE_SIZE.height / 2 });
  });
  return positions;
}

const ARROWS: Record<string, "parent" | "child" | "before" | "after"> = {
  ArrowLeft: "parent",
  ArrowRight: "child",
  ArrowUp: "before",
  ArrowDown: "after",
};

/** Returns the session that an arrow key leads to: the parent, the first child, or the one above or below. */
export function neighbor<T extends TreeFields>(
  nodes: readonly T[],
  places: Map<string, Point>,
  from: string,
  key: string,
  flow: LayoutDirection,
): string | null {
  const way = ARROWS[key];
  const here = places.get(from);
  const node = nodes.find((entry) => entry.id === from);
  if (!way || !here || !node) return null;
  if (way === "parent") {
    const above = originOf(node);
    return above && places.has(above) ? above : null;
  }
  const inOrder = [...places].sort(([, a], [, b]) => a.y - b.y);
  if (way === "child") {
    const below = new Set(nodes.filter((entry) => originOf(entry) === from).map((entry) => entry.id));
    return inOrder.find(([id]) => below.has(id))?.[0] ?? null;
  }
  const level = inOrder.filter(([, at]) => flow === "down" || at.x === here.x);
  const at = level.findIndex(([id]) => id === from);
  return level[way === "before" ? at - 1 : at + 1]?.[0] ?? null;
}
