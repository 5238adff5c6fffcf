/** One session on the canvas of its tree: how it stands, who it is, what it has used. */
import { type Node as FlowNode, Handle, type NodeProps, Position } from "@xyflow/react";
import { type CSSProperties, memo } from "react";
import type { Node } from "@/api/types";
import { money, tokens } from "@/lib/format";
import { KINDS, LOOKS, look, nameOf } from "@/lib/words";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, StateMark } from "@/ui/labels/Badge";
import { Marks } from "@/views/tree/SessionMarks";
import type { Flow } from "./layout";
import css from "./SessionNode.module.css";

export interface TreeNodeData extends Record<string, unknown> {
  session: Node;
  flow: Flow;
  /** The one that the Tab key leads to. */
  current: boolean;
  /** Whether its drawer is open, or which of the two to compare it is. */
  mark: "open" | "A" | "B" | null;
  raceNumber: number | null;
}
export type SessionNode = FlowNode<TreeNodeData, "session">;

const end = (id: string, type: "source" | "target", position: Position, style?: CSSProperties) => ({
  id,
  type,
  position,
  style,
});
/** Where lines begin and end: reports go back beside the line on which their sender came. */
const ENDS = {
  right: [
    end("in", "target", Position.Left),
    end("report-out", "source", Position.Left, { top: "80%" }),
    end("out", "source", Position.Right),
    end("report-in", "target", Position.Right, { top: "80%" }),
  ],
  down: [
    end("in", "target", Position.Left),
    end("report-out", "source", Position.Left, { top: "80%" }),
    end("out", "source", Position.Bottom, { left: 16 }),
    end("report-in", "target", Position.Bottom, { left: 8 }),
  ],
};

export const TreeNode = memo(function TreeNode({ data }: NodeProps<SessionNode>) {
  const { session, flow, current, mark } = data;
  return (
    <>
      {ENDS[flow].map((end) => (
        <Handle key={end.id} {...end} className={css.handle} isConnectable={false} />
      ))}
      <button
        type="button"
        className={`${css.node} nopan`}
        data-session={session.id}
        data-kind={session.kind}
        data-look={look(session)}
        data-mark={mark ?? undefined}
        data-archived={session.archived || undefined}
        aria-pressed={mark !== null}
        tabIndex={current ? 0 : -1}
      >
        <span className={css.top}>
          <StateMark state={session} showLabel />
          <Marks of={session} />
        </span>
        <span className={css.title}>{nameOf(session)}</span>
        <span className={css.foot}>
          <AgentMark agent={session.agent} />
          {session.kind !== "root" && (
            <Badge tone={session.kind === "btw" ? "btw" : "plain"}>
              {data.raceNumber ? `Racer ${data.raceNumber}` : KINDS[session.kind]}
            </Badge>
          )}
          <span className={css.used} title="Tokens and cost">
            {session.tokens > 0 && `${tokens(session.tokens)} tokens`}
            {session.cost > 0 && ` · ${money(session.cost)}`}
          </span>
        </span>
        {(mark === "A" || mark === "B") && <span className={css.pick}>{mark}</span>}
      </button>
    </>
  );
});

/** What is read out of a session that is moved to. */
export const spoken = (session: Node) =>
  `${nameOf(session)}, ${KINDS[session.kind]}, ${session.agent}, ${LOOKS[look(session)]}`;
