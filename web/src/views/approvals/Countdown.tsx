/** How long a question still waits, and what happens then. */
import { Timer } from "lucide-react";
import { useEffect, useReducer } from "react";
import css from "./ApprovalCard.module.css";

export function left(at: string, now = Date.now()): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(at) - now) / 1000));
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

export function Countdown({ at, then }: { at: string; then: "allow" | "deny" | null }) {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, []);
  const outcome = then === "allow" ? "Then it is allowed." : "Then it is denied.";
  return (
    <p className={css.countdown} role="timer">
      <Timer aria-hidden /> Waits {left(at)} more. {outcome}
    </p>
  );
}
