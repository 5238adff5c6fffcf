/** Turns sessions into canvas nodes. Unchanged nodes stay the same objects, so that only changed sessions render again. */
import { useMemo, useRef } from "react";
import type { Node, RaceBrief } from "@/api/types";
import { type LayoutDirection, NODE_SIZE, type Point } from "./layout";
import type { SessionFlowNode, SessionNodeData } from "./SessionNode";

interface NodeInputs {
  nodes: Node[];
  places: Map<string, Point>;
  flow: LayoutDirection;
  current: string;
  open: string | null;
  picked: string[] | null;
  races: RaceBrief[];
}

const same = (a: SessionNodeData, b: SessionNodeData) =>
  a.session === b.session &&
  a.flow === b.flow &&
  a.current === b.current &&
  a.mark === b.mark &&
  a.raceNumber === b.raceNumber;

export function useSessionNodes({
  nodes,
  places,
  flow,
  current,
  open,
  picked,
  races,
}: NodeInputs): SessionFlowNode[] {
  const known = useRef(new Map<string, SessionFlowNode>());
  return useMemo(() => {
    const numbers = new Map(races.flatMap((race) => race.sessionIds.map((id, at) => [id, at + 1] as const)));
    const flowNodes = nodes.map((session): SessionFlowNode => {
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
        same(old.data, data as SessionNodeData)
      )
        return old;
      return {
        id: session.id,
        type: "session",
        position,
        data: data as SessionNodeData,
        ...NODE_SIZE,
        measured: NODE_SIZE,
      };
    });
    known.current = new Map(flowNodes.map((item) => [item.id, item]));
    return flowNodes;
  }, [nodes, places, flow, current, open, picked, races]);
}
