/** Small labels: a badge on a colored background, and the mark of a session's state. */
import {
  Circle,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleSlash,
  CircleX,
  Clock,
  Hand,
  Hourglass,
  LoaderCircle,
  Repeat,
} from "lucide-react";
import type { ReactNode } from "react";
import { type DisplayState, displayState, STATE_NAMES, type StateFields } from "@/lib/words";
import css from "./Badge.module.css";

export type Tone = "plain" | "accent" | "running" | "waiting" | "failed" | "done" | "btw";

export const Badge = ({
  tone = "plain",
  icon,
  children,
  title,
}: {
  tone?: Tone;
  icon?: ReactNode;
  children: ReactNode;
  title?: string;
}) => (
  <span className={`${css.badge} ${css[tone]}`} title={title}>
    {icon}
    {children}
  </span>
);

const ICONS: Record<DisplayState, ReactNode> = {
  new: <CircleDashed />,
  idle: <Circle />,
  running: <LoaderCircle className={css.spin} />,
  stalled: <Hourglass />,
  looping: <Repeat />,
  waiting: <Hand />,
  queued: <Clock />,
  paused: <CirclePause />,
  done: <CircleCheck />,
  cancelled: <CircleSlash />,
  failed: <CircleX />,
};

const TONES: Record<DisplayState, string> = {
  new: css.ended!,
  idle: css.ready!,
  running: css.runningText!,
  stalled: css.waitingText!,
  looping: css.waitingText!,
  waiting: css.waitingText!,
  queued: css.ended!,
  paused: css.waitingText!,
  done: css.doneText!,
  cancelled: css.ended!,
  failed: css.failedText!,
};

/** Shows a session's state as an icon; its label is read out, or shown beside it. */
export function StateMark({ state, showLabel = false }: { state: StateFields; showLabel?: boolean }) {
  const shown = displayState(state);
  return (
    <span
      className={`${css.state} ${TONES[shown]}`}
      title={showLabel ? undefined : STATE_NAMES[shown]}
      data-session-state={shown}
    >
      <span aria-hidden className={css.stateIcon}>
        {ICONS[shown]}
      </span>
      <span className={showLabel ? undefined : "visually-hidden"}>{STATE_NAMES[shown]}</span>
    </span>
  );
}
