/** The time on the page for things that are under way at the server: it stands still while the server cannot be reached. */
import { useEffect, useReducer } from "react";
import { useConnection } from "./hooks";

const SECOND = 1000;

/** Returns the time in milliseconds and draws the component again every second while `active`. Without a connection nobody
 * knows what goes on at the server, so the clock stops at the moment of the last news. */
export function useServerClock(active: boolean): number {
  const { state, since } = useConnection();
  const [, tick] = useReducer((count: number) => count + 1, 0);
  const runs = active && state === "live";
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(tick, SECOND);
    return () => clearInterval(timer);
  }, [runs]);
  return state === "live" ? Date.now() : Math.min(since, Date.now());
}
