/** Shows how full the agent's context is, as a ring and a percentage. */
import type { Session } from "@/api/types";
import { tokens } from "@/lib/format";
import css from "./Header.module.css";

const CIRCUMFERENCE = 2 * Math.PI * 6;

/** Returns how much of context used, or null if the agent does not report it. */
export function contextUsage(context: unknown): { used: number; size: number; share: number } | null {
  const { used, size } = (context ?? {}) as { used?: unknown; size?: unknown };
  if (typeof used !== "number" || typeof size !== "number" || size <= 0) return null;
  return { used, size, share: Math.min(1, used / size) };
}

export function ContextGauge({ session }: { session: Session }) {
  const usage = contextUsage(session.context);
  if (!usage) return null;
  const percent = Math.round(usage.share * 100);
  const tone = percent >= 90 ? css.full : percent >= 75 ? css.nearly : "";
  return (
    <span
      className={`${css.gauge} ${tone}`}
      title={`Context: ${tokens(usage.used)} of ${tokens(usage.size)} tokens`}
    >
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden>
        <circle cx="8" cy="8" r="6" className={css.track} />
        <circle
          cx="8"
          cy="8"
          r="6"
          className={css.arc}
          strokeDasharray={`${usage.share * CIRCUMFERENCE} ${CIRCUMFERENCE}`}
          transform="rotate(-90 8 8)"
        />
      </svg>
      <span>
        {percent}%<span className="visually-hidden"> of context used</span>
      </span>
    </span>
  );
}
