/** Small marks: a word on a coloured ground, and how a session stands. */
import {
  Circle,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleSlash,
  CircleX,
  Clock,
  Hand,
  LoaderCircle,
} from "lucide-react";
import type { ReactNode } from "react";
import { LOOKS, type Look, look, type Stand } from "@/lib/words";
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

const ICONS: Record<Look, ReactNode> = {
  new: <CircleDashed />,
  idle: <Circle />,
  running: <LoaderCircle className={css.spin} />,
  waiting: <Hand />,
  queued: <Clock />,
  paused: <CirclePause />,
  done: <CircleCheck />,
  cancelled: <CircleSlash />,
  failed: <CircleX />,
};

const TONES: Record<Look, string> = {
  new: css.ended!,
  idle: css.ready!,
  running: css.runningText!,
  waiting: css.waitingText!,
  queued: css.ended!,
  paused: css.waitingText!,
  done: css.doneText!,
  cancelled: css.ended!,
  failed: css.failedText!,
};

/** How a session stands: an icon whose word is read out, or shown beside it. */
export function StateMark({ of, words = false }: { of: Stand; words?: boolean }) {
  const found = look(of);
  return (
    <span
      className={`${css.state} ${TONES[found]}`}
      title={words ? undefined : LOOKS[found]}
      data-look={found}
    >
      <span aria-hidden className={css.stateIcon}>
        {ICONS[found]}
      </span>
      <span className={words ? undefined : "visually-hidden"}>{LOOKS[found]}</span>
    </span>
  );
}
