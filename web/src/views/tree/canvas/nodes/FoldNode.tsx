/** A node that stands for finished sessions; a click shows them. */
import { type Node as FlowNode, Handle, type NodeProps, Position } from "@xyflow/react";
import { ChevronsUpDown } from "lucide-react";
import { memo } from "react";
import { plural } from "@/lib/format";
import type { LayoutDirection } from "@/views/tree/canvas/layout";
import type { Fold } from "@/views/tree/foldFinished";
import css from "./FoldNode.module.css";

export interface FoldNodeData extends Record<string, unknown> {
  fold: Fold;
  flow: LayoutDirection;
  current: boolean;
}
export type FoldFlowNode = FlowNode<FoldNodeData, "fold">;

export const foldWords = ({ sessions, unread }: Fold) =>
  `${plural(sessions, "more session")}${unread ? `, ${unread} unread` : ""}`;

export const FoldNode = memo(function FoldNode({ data: { fold, current } }: NodeProps<FoldFlowNode>) {
  return (
    <>
      <Handle id="in" type="target" position={Position.Left} className={css.handle} isConnectable={false} />
      <button
        type="button"
        className={`${css.fold} nopan`}
        data-fold={fold.id}
        tabIndex={current ? 0 : -1}
        aria-expanded={false}
      >
        <ChevronsUpDown aria-hidden />
        {foldWords(fold)}
      </button>
    </>
  );
});
