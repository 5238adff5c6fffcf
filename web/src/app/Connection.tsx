/** Whether the page knows the truth: nothing while it does; since when it does not, and what to do, while it does not. */
import { CloudOff, Lock } from "lucide-react";
import { useEffect, useState } from "react";
import { useConnection, useStream } from "@/live/hooks";
import { Button } from "@/ui/controls/Button";
import { Time } from "@/ui/labels/Time";
import css from "./Connection.module.css";

/** A restart takes less than this; nobody needs to read about it. */
const PATIENCE = 1500;

export function Connection() {
  const link = useConnection();
  const stream = useStream();
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (link.state === "live") return;
    const timer = setTimeout(() => setLate(true), PATIENCE);
    return () => clearTimeout(timer);
  }, [link.state]);
  if (link.state === "live" || !late) return null;
  if (link.state === "locked")
    return (
      <div className={css.bar} role="alert">
        <Lock aria-hidden />
        <span>
          This browser is no longer let in. Open the link that <code>bough serve</code> printed (or run{" "}
          <code>bough open</code>).
        </span>
      </div>
    );
  return (
    <div className={css.bar} role="status">
      <CloudOff aria-hidden />
      <span>
        The server cannot be reached. What you see is from <Time at={new Date(link.since).toISOString()} />;
        the page goes on by itself.
      </span>
      <Button size="small" onClick={() => stream.reconnect()}>
        Try now
      </Button>
    </div>
  );
}
