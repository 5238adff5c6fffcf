/** A session on the canvas: state, title, agent, usage. */
import { type Node as FlowNode, Handle, type NodeProps, Position } from "@xyflow/react";
import { type CSSProperties, memo } from "react";
import type { Node } from "@/api/types";
import { money, tokens } from "@/lib/format";
import { displayState, KIND_NAMES, sessionName } from "@/lib/words";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, StateMark } from "@/ui/labels/Badge";
import { heightOf, type LayoutDirection, titleLines } from "@/views/tree/canvas/layout";
import { SessionMarks } from "@/views/tree/SessionMarks";
import css from "./SessionNode.module.css";

export interface SessionNodeData extends Record<string, unknown> {
  session: Node;
  flow: LayoutDirection;
  /** Whether the Tab key reaches it. */
  current: boolean;
  /** Shown in the drawer, or one of the two sessions to compare. */
  mark: "open" | "A" | "B" | null;
  raceNumber: number | null;
}
export type SessionFlowNode = FlowNode<SessionNodeData, "session">;

const end = (id: string, type: "source" | "target", position: Position, style?: CSSProperties) => ({
  id,
  type,
  position,
  style,
});
/** Where edges start and end; reports return beside the edge of their sender. */
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

export const SessionNode = memo(function SessionNode({ data }: NodeProps<SessionFlowNode>) {
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
        data-session-state={displayState(session)}
        data-mark={mark ?? undefined}
        data-archived={session.archived || undefined}
        aria-pressed={mark !== null}
        tabIndex={current ? 0 : -1}
        style={{ height: heightOf(session) }}
      >
        <span className={css.top}>
          <StateMark state={session} showLabel />
          <SessionMarks of={session} />
        </span>
        <span
          className={css.title}
          style={{ WebkitLineClamp: Math.max(2, titleLines(sessionName(session))) }}
        >
          {sessionName(session)}
        </span>
        <span className={css.foot}>
          <AgentMark agent={session.agent} />
          {session.kind !== "root" && (
            <Badge tone={session.kind === "btw" ? "btw" : "plain"}>
              {data.raceNumber ? `Racer ${data.raceNumber}` : KIND_NAMES[session.kind]}
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
