/** Shows how long something has been running, updated every second. */
import { useEffect, useReducer } from "react";
import { duration } from "@/lib/format";

const SECOND = 1000;

export function Elapsed({ since }: { since: string }) {
  const [, tick] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(tick, SECOND);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(1, Math.floor((Date.now() - Date.parse(since)) / SECOND));
  return (
    <time dateTime={since} title={`Since ${new Date(since).toLocaleString()}`}>
      {duration(seconds)}
    </time>
  );
}
