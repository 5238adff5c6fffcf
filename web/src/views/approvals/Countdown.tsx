/** Counts down to the moment when an approval is decided automatically. */
import { Timer } from "lucide-react";
import { useEffect, useReducer } from "react";
import css from "./ApprovalCard.module.css";

export function timeLeft(until: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - now) / 1000));
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function Countdown({ until, then }: { until: string; then: "allow" | "deny" | null }) {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p className={css.countdown} role="timer">
      <Timer aria-hidden /> {then === "allow" ? "Allowed" : "Denied"} automatically in {timeLeft(until)}
    </p>
  );
}
