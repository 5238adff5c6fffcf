/** Folds the finished parts of a large tree, so that what works or waits can be read without looking for it. */
import type { Node } from "@/api/types";
import { displayState } from "@/lib/words";
import { originOf, type TreeBranch, type TreeFields } from "./lineage";

/** Trees of at most this many sessions are shown whole. */
export const SMALL_TREE = 24;
/** So many finished children stay beside those at work; more are folded into one line. */
const FEW = 3;

/** Stands for sessions below a parent that are not shown. */
export interface Fold extends TreeFields {
  foldedBelow: string;
  sessions: number;
  unread: number;
}
export type Shown = Node | Fold;
/** What a person decided: true shows all children of a session, false none. */
export type Folding = ReadonlyMap<string, boolean>;

export const isFold = (item: TreeFields): item is Fold => "foldedBelow" in item;

const FINISHED = ["idle", "done", "cancelled"];
/** Whether nothing happens in a session and nobody has to do anything about it. */
const isFinished = (node: Node) =>
  node.archived || (FINISHED.includes(displayState(node)) && node.held === 0 && node.asking === 0);

/** Returns the sessions from the root to this one. */
export function pathTo(nodes: readonly Node[], id: string): string[] {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const path: string[] = [];
  for (let node = known.get(id); node && !path.includes(node.id); node = known.get(originOf(node) ?? ""))
    path.unshift(node.id);
  return path;
}

interface Weighed {
  branch: TreeBranch<Node>;
  children: Weighed[];
  busy: boolean;
  sessions: number;
  unread: number;
}

function weigh(branch: TreeBranch<Node>, keep: ReadonlySet<string>): Weighed {
  const children = branch.children.map((child) => weigh(child, keep));
  const sum = (count: (child: Weighed) => number) =>
    children.reduce((total, child) => total + count(child), 0);
  return {
    branch,
    children,
    busy: keep.has(branch.node.id) || !isFinished(branch.node) || children.some((child) => child.busy),
    sessions: 1 + sum((child) => child.sessions),
    unread: (branch.node.unread ? 1 : 0) + sum((child) => child.unread),
  };
}

function fold(parent: Node, hidden: Weighed[]): TreeBranch<Shown> {
  const node: Fold = {
    id: `fold:${parent.id}`,
    kind: "subsession",
    parentSessionId: parent.id,
    forkedFromSessionId: null,
    archived: false,
    foldedBelow: parent.id,
    sessions: hidden.reduce((total, child) => total + child.sessions, 0),
    unread: hidden.reduce((total, child) => total + child.unread, 0),
  };
  return { node, children: [] };
}

function show(item: Weighed, folding: Folding, small: boolean): TreeBranch<Shown> {
  const { node } = item.branch;
  const decided = folding.get(node.id);
  const finished = item.children.filter((child) => !child.busy);
  const count = finished.reduce((total, child) => total + child.sessions, 0);
  let hidden: Weighed[] = [];
  if (decided === false) hidden = item.children;
  // A line that stands for one session takes as much room as the session.
  else if (decided === undefined && !small && count > 1 && (!item.busy || finished.length > FEW))
    hidden = finished;
  const shown = item.children.filter((child) => !hidden.includes(child));
  const children = shown.map((child) => show(child, folding, small));
  return { node, children: hidden.length ? [...children, fold(node, hidden)] : children };
}

/** Returns the trees with finished subtrees folded; `keep` names sessions that stay visible. Small trees stay whole unless a
 * person folds them. */
export function foldFinished(
  roots: readonly TreeBranch<Node>[],
  keep: readonly string[],
  folding: Folding,
): TreeBranch<Shown>[] {
  const shownIds = new Set(keep);
  const weighed = roots.map((root) => weigh(root, shownIds));
  const small = weighed.reduce((total, item) => total + item.sessions, 0) <= SMALL_TREE;
  return weighed.map((item) => show(item, folding, small));
}
