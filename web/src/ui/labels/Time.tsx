/** Shows a relative time that updates itself; the exact time is its tooltip. */
import { useEffect, useReducer } from "react";
import { ago } from "@/lib/format";

const UPDATE_INTERVAL = 30_000;

export function Time({ at }: { at: string }) {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, UPDATE_INTERVAL);
    return () => clearInterval(timer);
  }, []);
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {ago(at)}
    </time>
  );
}
