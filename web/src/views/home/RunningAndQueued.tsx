/** The running sessions, and those with queued prompts. */
import { Square } from "lucide-react";
import { resumeSession, runRequest, stopSession } from "@/api/actions";
import { firstLine, plural } from "@/lib/format";
import { Button, IconButton } from "@/ui/controls/Button";
import { Badge, StateMark } from "@/ui/labels/Badge";
import { Time } from "@/ui/labels/Time";
import { Elapsed } from "./Elapsed";
import css from "./Home.module.css";
import { HomeItem } from "./HomeItem";
import type { HomeSession } from "./summaries";

export function Running({ sessions }: { sessions: HomeSession[] }) {
  return (
    <ul className={css.list}>
      {sessions.map((session) => (
        <HomeItem
          key={session.id}
          session={session}
          mark={<StateMark state={session} />}
          meta={
            <>
              {session.queued > 0 && <Badge>{`${plural(session.queued, "prompt")} queued`}</Badge>}
              {session.lastTask?.startedAt && <Elapsed since={session.lastTask.startedAt} />}
              <IconButton
                label={`Stop ${session.title}`}
                size="small"
                onClick={() => void runRequest(() => stopSession(session.id))}
              >
                <Square />
              </IconButton>
            </>
          }
        >
          {session.lastTask && <p className={css.words}>{firstLine(session.lastTask.prompt)}</p>}
        </HomeItem>
      ))}
    </ul>
  );
}

export function Queued({ sessions }: { sessions: HomeSession[] }) {
  return (
    <ul className={css.list}>
      {sessions.map((session) => (
        <HomeItem
          key={session.id}
          session={session}
          mark={<StateMark state={session} />}
          meta={
            <>
              <Badge tone={session.queuePaused ? "waiting" : "plain"}>
                {`${plural(session.queued, "prompt")} queued`}
                {session.queuePaused ? ", paused" : ""}
              </Badge>
              <Time at={session.activeAt} />
              {session.queuePaused && (
                <Button size="small" onClick={() => void runRequest(() => resumeSession(session.id))}>
                  Resume
                </Button>
              )}
            </>
          }
        />
      ))}
    </ul>
  );
}
