/** A moment as people say it, exact when pointed at; it grows older by itself. */
import { useEffect, useReducer } from "react";
import { ago } from "@/lib/format";

const MINUTE = 30_000;

export function Time({ at }: { at: string }) {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, MINUTE);
    return () => clearInterval(timer);
  }, []);
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {ago(at)}
    </time>
  );
}
