/** An edge between two sessions: dashed for a fork, solid for a child, dotted for a side question, an arrow for a report. */
import { BaseEdge, type EdgeProps, getBezierPath, getSmoothStepPath, Position } from "@xyflow/react";
import { memo } from "react";
import type { TreeEdge as Tie } from "./edges";
import css from "./TreeEdge.module.css";

export const TreeEdge = memo(function TreeEdge(props: EdgeProps<Tie>) {
  const down = props.sourcePosition === Position.Bottom || props.targetPosition === Position.Bottom;
  const [path] = down ? getSmoothStepPath({ ...props, borderRadius: 10 }) : getBezierPath(props);
  const { kind = "spawn", state } = props.data ?? {};
  // The label is beside its session, where edges do not cross.
  const [x, y] = kind === "report" ? [props.sourceX, props.sourceY] : [props.targetX, props.targetY];
  // A fork's label is above its edge; a report's is on it.
  const beside = { x: x - 58, y: kind === "report" ? y : y - 14 };
  const near = down ? { x: x + 56, y: y + (kind === "report" ? 33 : -64) } : beside;
  return (
    <BaseEdge
      id={props.id}
      path={path}
      className={`${css.edge} ${css[kind]} ${state ? (css[state] ?? "") : ""}`}
      markerEnd={kind === "report" ? `url(#report-${state})` : undefined}
      label={props.label}
      labelX={near.x}
      labelY={near.y}
      labelBgPadding={[5, 2]}
      labelBgBorderRadius={4}
    />
  );
});

/** The arrowheads of reports. */
export const Arrowheads = () => (
  <svg aria-hidden className={css.defs}>
    <defs>
      {(["queued", "held", "delivered"] as const).map((state) => (
        <marker
          key={state}
          id={`report-${state}`}
          viewBox="0 0 10 10"
          refX="9"
          refY="5"
          markerWidth="12"
          markerHeight="12"
          markerUnits="userSpaceOnUse"
          orient="auto-start-reverse"
        >
          <path d="M0 0 L10 5 L0 10 z" className={css[`head-${state}`]} />
        </marker>
      ))}
    </defs>
  </svg>
);
