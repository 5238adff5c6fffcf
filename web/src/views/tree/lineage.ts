/** How the sessions of a tree hang together: which hangs from which, and in which order they are read. Where they stand on
 * a canvas is `layout`. */
import type { Kind } from "@/api/types";

/** What lineage needs to know of a session. */
export interface Kin {
  id: string;
  kind: Kind;
  parentSessionId: string | null;
  forkedFromSessionId: string | null;
  archived: boolean;
}

export interface Branching<T extends Kin> {
  node: T;
  children: Branching<T>[];
}

/** A fork hangs from what it was forked from, though its parent is that of its origin; all others from their parent. */
export function hangsFrom(one: Kin): string | null {
  return one.kind === "fork"
    ? (one.forkedFromSessionId ?? one.parentSessionId)
    : (one.parentSessionId ?? one.forkedFromSessionId);
}

/** Sessions as trees, children in the order in which they were given. Whoever hangs from nobody that is here is a root. */
export function grow<T extends Kin>(nodes: readonly T[]): Branching<T>[] {
  const known = new Map(nodes.map((node) => [node.id, { node, children: [] as Branching<T>[] }]));
  const roots: Branching<T>[] = [];
  for (const one of known.values()) {
    const above = known.get(hangsFrom(one.node) ?? "") ?? known.get(one.node.parentSessionId ?? "");
    if (above && above !== one) above.children.push(one);
    else roots.push(one);
  }
  return roots;
}

/** Asides and what was put away: folded, unless something that is not hangs from it. */
export function parted<T extends Kin>(roots: Branching<T>[]): { shown: Branching<T>[]; folded: T[] } {
  const folded: T[] = [];
  const keep = (one: Branching<T>): Branching<T> | null => {
    const children = one.children.map(keep).filter((child) => child !== null);
    if ((one.node.archived || one.node.kind === "btw") && !children.length) {
      folded.push(one.node);
      return null;
    }
    return { node: one.node, children };
  };
  // A root is shown even when it was put away: there would be nothing to read otherwise.
  const shown = roots.map(
    (root) => keep(root) ?? { node: folded.splice(folded.indexOf(root.node), 1)[0]!, children: [] },
  );
  return { shown, folded };
}

/** From a root to each of its descendants, as they are read. */
export function* walk<T extends Kin>(
  roots: readonly Branching<T>[],
  depth = 0,
): Generator<[T, number, Branching<T>]> {
  for (const one of roots) {
    yield [one.node, depth, one];
    yield* walk(one.children, depth + 1);
  }
}
