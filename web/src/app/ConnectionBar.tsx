/** Shows a bar while the page is not connected: since when, and what to do about it. */
import { CloudOff, Lock } from "lucide-react";
import { useEffect, useState } from "react";
import { useConnection, useStream } from "@/live/hooks";
import { Button } from "@/ui/controls/Button";
import { Time } from "@/ui/labels/Time";
import css from "./ConnectionBar.module.css";

/** A server restart is shorter than this and not worth a message. */
const PATIENCE = 1500;

export function ConnectionBar() {
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
          This browser is no longer signed in. Run <code>bough open</code>, or open the link that{" "}
          <code>bough serve</code> printed.
        </span>
      </div>
    );
  return (
    <div className={css.bar} role="status">
      <CloudOff aria-hidden />
      <span>
        The server cannot be reached. Showing data from <Time at={new Date(link.since).toISOString()} />;
        reconnecting…
      </span>
      <Button size="small" onClick={() => stream.reconnect()}>
        Reconnect
      </Button>
    </div>
  );
}
