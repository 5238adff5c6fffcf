/** Shows how long something has been running, updated every second. */
import { duration } from "@/lib/format";
import { useServerClock } from "@/live/clock";

const SECOND = 1000;

export function Elapsed({ since }: { since: string }) {
  const seconds = Math.max(1, Math.floor((useServerClock(true) - Date.parse(since)) / SECOND));
  return (
    <time dateTime={since} title={`Since ${new Date(since).toLocaleString()}`}>
      {duration(seconds)}
    </time>
  );
}
