/** Computes the positions of sessions on the canvas, and their neighbors for the arrow keys. */
import { hierarchy, tree as tidy } from "d3-hierarchy";
import { sessionName } from "@/lib/words";
import { isFold, type Shown } from "@/views/tree/foldFinished";
import { originOf, type TreeBranch, type TreeFields, walk } from "@/views/tree/lineage";

export type LayoutDirection = "right" | "down";
export interface Point {
  x: number;
  y: number;
}

export const NODE_SIZE = { width: 264, height: 104 };
export const FOLD_HEIGHT = 44;
const GAP = { along: 132, across: 28 };
/** On a phone, sessions are stacked like a list. */
const STEP = { x: 32, y: 24 };
/** A title has two lines of at least this many characters; more lines make its node higher. */
const LETTERS = 27;
const LINES = 2;
const LINE_HEIGHT = 17;

/** Returns how many lines a title takes, at most. */
export function titleLines(title: string): number {
  let [lines, used] = [1, 0];
  for (const word of title.split(/\s+/)) {
    // Letters beyond Latin ones are up to twice as wide.
    const width = [...word].reduce((sum, letter) => sum + (letter > "\u2fff" ? 2 : 1), 0);
    if (used && used + 1 + width > LETTERS) [lines, used] = [lines + 1, 0];
    lines += Math.floor(Math.max(0, width - 1) / LETTERS);
    used += (used ? 1 : 0) + (width > LETTERS ? width % LETTERS : width);
  }
  return lines;
}

/** Returns the height of a session's node, with its whole title, or of a fold. */
export const heightOf = (item: Shown): number =>
  isFold(item)
    ? FOLD_HEIGHT
    : NODE_SIZE.height + Math.max(0, titleLines(sessionName(item)) - LINES) * LINE_HEIGHT;

/** Returns the top left corners by id. `right` puts generations into columns, `down` makes an indented list. */
export function layOutTree<T extends TreeFields>(
  roots: TreeBranch<T>[],
  flow: LayoutDirection,
  height: (item: T) => number = () => NODE_SIZE.height,
): Map<string, Point> {
  const positions = new Map<string, Point>();
  if (flow === "down") {
    let y = 0;
    for (const [item, depth] of walk(roots)) {
      positions.set(item.id, { x: depth * STEP.x, y });
      y += height(item) + STEP.y;
    }
    return positions;
  }
  const along = NODE_SIZE.width + GAP.along;
  // Several roots, whose common root was removed, get an invisible one.
  const above = hierarchy<{ node?: T; children: TreeBranch<T>[] }>(
    roots.length === 1 ? roots[0]! : { children: roots },
  );
  const high = (entry: { data: { node?: T } }) => (entry.data.node ? height(entry.data.node) : 0);
  tidy<{ node?: T; children: TreeBranch<T>[] }>()
    .nodeSize([1, along])
    .separation((a, b) => (high(a) + high(b)) / 2 + GAP.across)(above);
  const skipped = roots.length === 1 ? 0 : along;
  above.each((hierarchyNode) => {
    const { x = 0, y = 0 } = hierarchyNode;
    if (hierarchyNode.data.node)
      positions.set(hierarchyNode.data.node.id, { x: y - skipped, y: x - high(hierarchyNode) / 2 });
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
