/** Nodes for the canvas that stay the same objects while nothing about them has changed, so that only the sessions that an
 * event touched are drawn again. */
import { useMemo, useRef } from "react";
import type { Node, RaceBrief } from "@/api/types";
import { type Flow, NODE, type Point } from "./layout";
import type { SessionNode, TreeNodeData } from "./SessionNode";

interface Given {
  nodes: Node[];
  places: Map<string, Point>;
  flow: Flow;
  current: string;
  open: string | null;
  picked: string[] | null;
  races: RaceBrief[];
}

const same = (a: TreeNodeData, b: TreeNodeData) =>
  a.session === b.session &&
  a.flow === b.flow &&
  a.current === b.current &&
  a.mark === b.mark &&
  a.raceNumber === b.raceNumber;

export function useFlowNodes({ nodes, places, flow, current, open, picked, races }: Given): SessionNode[] {
  const known = useRef(new Map<string, SessionNode>());
  return useMemo(() => {
    const numbers = new Map(races.flatMap((race) => race.sessionIds.map((id, at) => [id, at + 1] as const)));
    const made = nodes.map((session): SessionNode => {
      const position = places.get(session.id) ?? { x: 0, y: 0 };
      const at = picked ? picked.indexOf(session.id) : -1;
      const mark = picked ? (at < 0 ? null : at ? "B" : "A") : session.id === open ? "open" : null;
      const data = {
        session,
        flow,
        current: session.id === current,
        mark,
        raceNumber: numbers.get(session.id) ?? null,
      };
      const old = known.current.get(session.id);
      if (
        old &&
        old.position.x === position.x &&
        old.position.y === position.y &&
        same(old.data, data as TreeNodeData)
      )
        return old;
      return {
        id: session.id,
        type: "session",
        position,
        data: data as TreeNodeData,
        ...NODE,
        measured: NODE,
      };
    });
    known.current = new Map(made.map((one) => [one.id, one]));
    return made;
  }, [nodes, places, flow, current, open, picked, races]);
}
