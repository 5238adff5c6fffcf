/** Builds trees from sessions: which came from which, and in which order they are listed. */
import type { Kind } from "@/api/types";

/** The fields of a session that define its place in a tree. */
export interface TreeFields {
  id: string;
  kind: Kind;
  parentSessionId: string | null;
  forkedFromSessionId: string | null;
  archived: boolean;
}

export interface TreeBranch<T extends TreeFields> {
  node: T;
  children: TreeBranch<T>[];
}

/** Returns the session that another came from: for a fork its source, for all others the parent. */
export function originOf(treeFields: TreeFields): string | null {
  return treeFields.kind === "fork"
    ? (treeFields.forkedFromSessionId ?? treeFields.parentSessionId)
    : (treeFields.parentSessionId ?? treeFields.forkedFromSessionId);
}

/** Builds trees; children keep their order, and sessions whose origin is not in the list become roots. */
export function buildTree<T extends TreeFields>(nodes: readonly T[]): TreeBranch<T>[] {
  const known = new Map(nodes.map((node) => [node.id, { node, children: [] as TreeBranch<T>[] }]));
  const roots: TreeBranch<T>[] = [];
  for (const item of known.values()) {
    const above = known.get(originOf(item.node) ?? "") ?? known.get(item.node.parentSessionId ?? "");
    if (above && above !== item) above.children.push(item);
    else roots.push(item);
  }
  return roots;
}

/** Separates side questions and archived sessions, except those that have visible descendants. */
export function splitFolded<T extends TreeFields>(
  roots: TreeBranch<T>[],
): { shown: TreeBranch<T>[]; folded: T[] } {
  const folded: T[] = [];
  const keep = (branch: TreeBranch<T>): TreeBranch<T> | null => {
    const children = branch.children.map(keep).filter((child) => child !== null);
    if ((branch.node.archived || branch.node.kind === "btw") && !children.length) {
      folded.push(branch.node);
      return null;
    }
    return { node: branch.node, children };
  };
  // An archived root is still shown; otherwise the list would be empty.
  const shown = roots.map(
    (root) => keep(root) ?? { node: folded.splice(folded.indexOf(root.node), 1)[0]!, children: [] },
  );
  return { shown, folded };
}

type Busy = TreeFields & { status: string; activity: string };

/** Sorts trees and the children in them: what waits for a person first, then what runs, each below its origins. */
export function busyFirst<T extends Busy>(roots: readonly TreeBranch<T>[]): TreeBranch<T>[] {
  return roots
    .map(({ node, children }) => ({ node, children: busyFirst(children) }))
    .sort((a, b) => urgency(a) - urgency(b));
}

function urgency({ node, children }: TreeBranch<Busy>): number {
  const rank = node.status === "active" ? ["waiting_permission", "running"].indexOf(node.activity) : -1;
  return Math.min(rank < 0 ? 2 : rank, ...children.map(urgency));
}

/** Walks trees in reading order, with the depth of each session. */
export function* walk<T extends TreeFields>(
  roots: readonly TreeBranch<T>[],
  depth = 0,
): Generator<[T, number, TreeBranch<T>]> {
  for (const branch of roots) {
    yield [branch.node, depth, branch];
    yield* walk(branch.children, depth + 1);
  }
}
