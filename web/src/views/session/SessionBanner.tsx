/** What is unusual about a session, said above the box: ended, failed for good, put away, held. */
import { Archive, CircleCheck, CircleSlash, CircleX, PlugZap } from "lucide-react";
import type { ReactNode } from "react";
import { act, archiveSession, resumeSession } from "@/api/actions";
import type { Session } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import css from "./Session.module.css";
import type { Standing } from "./sessionState";

interface Said {
  tone?: "failed" | "waiting";
  icon: ReactNode;
  text: string;
  action?: { label: string; run: () => void };
}

const REASONS: Record<string, string> = {
  idle_timeout: "It was idle for long.",
  archived: "It was archived.",
};

export function banner(session: Session, now: Standing, onFork: () => void): Said | null {
  const reason = REASONS[String(session.metadata.reason ?? "")];
  if (now.broken)
    return {
      tone: "failed",
      icon: <CircleX aria-hidden />,
      text: "This session failed and cannot go on. A fork goes on from where it stood.",
      action: { label: "Fork", run: onFork },
    };
  if (session.archived)
    return {
      icon: <Archive aria-hidden />,
      text: "This session is archived. A prompt takes it out and resumes it.",
      action: {
        label: "Take out of the archive",
        run: () => void act(() => archiveSession(session.id, { archived: false })),
      },
    };
  if (session.status === "error")
    return {
      tone: "failed",
      icon: <CircleX aria-hidden />,
      text: "This session was marked as failed. A prompt resumes it.",
    };
  if (session.status === "completed")
    return {
      icon: <CircleCheck aria-hidden />,
      text: ["This session is completed.", reason, "A prompt resumes it."].filter(Boolean).join(" "),
    };
  if (session.status === "cancelled")
    return { icon: <CircleSlash aria-hidden />, text: "This session was cancelled. A prompt resumes it." };
  if (now.held)
    return {
      tone: "waiting",
      icon: <PlugZap aria-hidden />,
      text: "The agent ended in the middle of this turn. Resume to start it again and have it go on.",
      action: { label: "Resume", run: () => void act(() => resumeSession(session.id)) },
    };
  return null;
}

export function Banners({ session, now, onFork }: { session: Session; now: Standing; onFork: () => void }) {
  const said = banner(session, now, onFork);
  if (!said) return null;
  return (
    <div className={`${css.banner} ${said.tone ? css[said.tone] : ""}`} role="status">
      {said.icon}
      <p>{said.text}</p>
      {said.action && (
        <Button size="small" onClick={said.action.run}>
          {said.action.label}
        </Button>
      )}
    </div>
  );
}
