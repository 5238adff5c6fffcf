/** Turns sessions into canvas nodes. Unchanged nodes stay the same objects, so that only changed sessions render again. */
import { useMemo, useRef } from "react";
import type { Node, RaceBrief } from "@/api/types";
import {
  FOLD_HEIGHT,
  heightOf,
  type LayoutDirection,
  NODE_SIZE,
  type Point,
} from "@/views/tree/canvas/layout";
import type { Fold } from "@/views/tree/foldFinished";
import type { FoldFlowNode } from "./FoldNode";
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
      const size = { width: NODE_SIZE.width, height: heightOf(session) };
      const old = known.current.get(session.id);
      if (
        old?.height === size.height &&
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
        ...size,
        measured: size,
      };
    });
    known.current = new Map(flowNodes.map((item) => [item.id, item]));
    return flowNodes;
  }, [nodes, places, flow, current, open, picked, races]);
}

/** Turns folds into canvas nodes. */
export const useFoldNodes = (
  folds: readonly Fold[],
  places: Map<string, Point>,
  flow: LayoutDirection,
  current: string,
): FoldFlowNode[] =>
  useMemo(() => {
    const size = { width: NODE_SIZE.width, height: FOLD_HEIGHT };
    return folds.map((fold) => ({
      id: fold.id,
      type: "fold",
      position: places.get(fold.id) ?? { x: 0, y: 0 },
      data: { fold, flow, current: fold.id === current },
      ...size,
      measured: size,
    }));
  }, [folds, places, flow, current]);
