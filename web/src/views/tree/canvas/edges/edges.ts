/** Builds the edges between sessions: forks, children, side questions and reports. */
import type { Edge } from "@xyflow/react";
import type { Callback, Node } from "@/api/types";
import { sessionName } from "@/lib/words";
import type { Fold } from "@/views/tree/foldFinished";
import { originOf } from "@/views/tree/lineage";

export type EdgeKind = "fork" | "spawn" | "sideQuestion" | "report" | "fold";

export interface TreeEdgeData extends Record<string, unknown> {
  kind: EdgeKind;
  /** The state of a report. */
  state?: Callback["state"];
}
export type TreeEdge = Edge<TreeEdgeData>;

const KINDS: Record<Node["kind"], EdgeKind> = {
  root: "fork",
  fork: "fork",
  subsession: "spawn",
  btw: "sideQuestion",
};
const LABELS: Record<EdgeKind, string> = {
  fork: "fork of",
  spawn: "child of",
  sideQuestion: "side question to",
  report: "reports to",
  fold: "below",
};
const REPORTS: Record<Callback["state"], string> = {
  queued: "report queued",
  held: "report held",
  delivered: "reported",
};

/** Returns the edges from each session to its origin; `numbers` has the number of each task within its session. */
export function originEdges(nodes: readonly Node[], numbers: Map<string, number>): TreeEdge[] {
  const known = new Map(nodes.map((node) => [node.id, node]));
  return nodes.flatMap((node) => {
    const from = originOf(node);
    if (!from || !known.has(from) || from === node.id) return [];
    const kind = KINDS[node.kind];
    const number = node.branchTaskId ? numbers.get(node.branchTaskId) : undefined;
    const label = kind !== "fork" ? undefined : number ? `fork after turn ${number}` : "fork";
    return [
      {
        id: `${from}>${node.id}`,
        source: from,
        target: node.id,
        sourceHandle: "out",
        targetHandle: "in",
        type: "treeEdge",
        focusable: false,
        label,
        // Labels are drawn above other edges.
        zIndex: label ? 1 : 0,
        ariaLabel: `${sessionName(node)}: ${LABELS[kind]} ${sessionName(known.get(from)!)}`,
        data: { kind },
      },
    ];
  });
}

/** Returns the edges from folds to the sessions that they are below. */
export const foldEdges = (folds: readonly Fold[]): TreeEdge[] =>
  folds.map(({ id, foldedBelow }) => ({
    id: `${foldedBelow}>${id}`,
    source: foldedBelow,
    target: id,
    sourceHandle: "out",
    targetHandle: "in",
    type: "treeEdge",
    focusable: false,
    data: { kind: "fold" },
  }));

/** Returns an edge for the newest report of each child. */
export function reportEdges(nodes: readonly Node[], callbacks: readonly Callback[]): TreeEdge[] {
  const known = new Set(nodes.map((node) => node.id));
  const newest = new Map<string, Callback>();
  for (const item of callbacks) {
    const way = `${item.childSessionId}>${item.parentSessionId}`;
    const other = newest.get(way);
    if (!other || other.createdAt < item.createdAt) newest.set(way, item);
  }
  return [...newest].flatMap(([way, item]) =>
    known.has(item.childSessionId) && known.has(item.parentSessionId)
      ? [
          {
            id: `report:${way}`,
            source: item.childSessionId,
            target: item.parentSessionId,
            sourceHandle: "report-out",
            targetHandle: "report-in",
            type: "treeEdge",
            focusable: false,
            animated: item.state !== "delivered",
            label: REPORTS[item.state],
            ariaLabel: `${REPORTS[item.state]} to its parent`,
            data: { kind: "report", state: item.state },
          },
        ]
      : [],
  );
}
