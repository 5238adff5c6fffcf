/** Builds the edges between sessions: forks, children, side questions and reports. */
import type { Edge } from "@xyflow/react";
import type { Callback, Node } from "@/api/types";
import { sessionName } from "@/lib/words";
import { originOf } from "@/views/tree/lineage";

export type EdgeKind = "fork" | "spawn" | "sideQuestion" | "report";

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
};
const REPORTS: Record<Callback["state"], string> = {
  queued: "report queued",
  held: "report held",
  delivered: "reported",
};

/** Returns the edges from each session to its origin; `numbers` has the number of each task within its session. */
export function originEdges(nodes: readonly Node[], numbers: Map<string, number>): TreeEdge[] {
  const known = new Map(nodes.map((one) => [one.id, one]));
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

/** Returns an edge for the newest report of each child. */
export function reportEdges(nodes: readonly Node[], callbacks: readonly Callback[]): TreeEdge[] {
  const known = new Set(nodes.map((one) => one.id));
  const newest = new Map<string, Callback>();
  for (const one of callbacks) {
    const way = `${one.childSessionId}>${one.parentSessionId}`;
    const other = newest.get(way);
    if (!other || other.createdAt < one.createdAt) newest.set(way, one);
  }
  return [...newest].flatMap(([way, one]) =>
    known.has(one.childSessionId) && known.has(one.parentSessionId)
      ? [
          {
            id: `report:${way}`,
            source: one.childSessionId,
            target: one.parentSessionId,
            sourceHandle: "report-out",
            targetHandle: "report-in",
            type: "treeEdge",
            focusable: false,
            animated: one.state !== "delivered",
            label: REPORTS[one.state],
            ariaLabel: `${REPORTS[one.state]} to its parent`,
            data: { kind: "report", state: one.state },
          },
        ]
      : [],
  );
}
