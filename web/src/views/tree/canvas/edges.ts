/** What is drawn between sessions: how each came from another, and the reports that children send back. */
import type { Edge } from "@xyflow/react";
import type { Callback, Node } from "@/api/types";
import { nameOf } from "@/lib/words";
import { hangsFrom } from "@/views/tree/lineage";

export type Tie = "fork" | "spawn" | "aside" | "report";

export interface TieData extends Record<string, unknown> {
  tie: Tie;
  /** How a report stands. */
  state?: Callback["state"];
}
export type TieEdge = Edge<TieData>;

const TIES: Record<Node["kind"], Tie> = { root: "fork", fork: "fork", subsession: "spawn", btw: "aside" };
const WORDS: Record<Tie, string> = {
  fork: "fork of",
  spawn: "child of",
  aside: "aside to",
  report: "reports to",
};
const REPORTS: Record<Callback["state"], string> = {
  queued: "report waits",
  held: "report held",
  delivered: "reported",
};

/** `numbers` tells which task of its session a task is, as people count. */
export function ties(nodes: readonly Node[], numbers: Map<string, number>): TieEdge[] {
  const known = new Map(nodes.map((one) => [one.id, one]));
  return nodes.flatMap((node) => {
    const from = hangsFrom(node);
    if (!from || !known.has(from) || from === node.id) return [];
    const tie = TIES[node.kind];
    const number = node.branchTaskId ? numbers.get(node.branchTaskId) : undefined;
    const label = tie !== "fork" ? undefined : number ? `fork at task ${number}` : "fork";
    return [
      {
        id: `${from}>${node.id}`,
        source: from,
        target: node.id,
        sourceHandle: "out",
        targetHandle: "in",
        type: "tie",
        focusable: false,
        label,
        // Words stand above other lines.
        zIndex: label ? 1 : 0,
        ariaLabel: `${nameOf(node)}: ${WORDS[tie]} ${nameOf(known.get(from)!)}`,
        data: { tie },
      },
    ];
  });
}

/** The newest report of each child to each parent. */
export function reports(nodes: readonly Node[], callbacks: readonly Callback[]): TieEdge[] {
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
            type: "tie",
            focusable: false,
            animated: one.state !== "delivered",
            label: REPORTS[one.state],
            ariaLabel: `${REPORTS[one.state]} to its parent`,
            data: { tie: "report", state: one.state },
          },
        ]
      : [],
  );
}
