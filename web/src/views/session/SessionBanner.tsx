/** Explains, above the composer, why a session is not active: archived, ended, failed or interrupted. */
import { Archive, CircleCheck, CircleSlash, CircleX, PlugZap } from "lucide-react";
import type { ReactNode } from "react";
import { archiveSession, runRequest } from "@/api/actions";
import type { Session } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { resume } from "@/views/forms/layout/toastMadeRoom";
import css from "./Session.module.css";
import type { SessionState } from "./sessionState";

interface Banner {
  tone?: "failed" | "waiting";
  icon: ReactNode;
  text: string;
  action?: { label: string; run: () => void };
}

const END_REASONS: Record<string, string> = {
  idle_timeout: "It was idle for too long.",
  made_room: "It was idle, and made room for another session.",
  archived: "It was archived.",
};

export function bannerOf(session: Session, state: SessionState, onFork: () => void): Banner | null {
  const reason = END_REASONS[String(session.metadata.reason ?? "")];
  if (state.broken)
    return {
      tone: "failed",
      icon: <CircleX aria-hidden />,
      text: "This session failed and can’t continue. Fork it to go on from here.",
      action: { label: "Fork", run: onFork },
    };
  if (session.archived)
    return {
      icon: <Archive aria-hidden />,
      text: "This session is archived. Sending a prompt restores it.",
      action: {
        label: "Unarchive",
        run: () => void runRequest(() => archiveSession(session.id, { archived: false })),
      },
    };
  if (session.status === "error")
    return {
      tone: "failed",
      icon: <CircleX aria-hidden />,
      text: "This session was marked as failed. Sending a prompt resumes it.",
    };
  if (session.status === "completed")
    return {
      icon: <CircleCheck aria-hidden />,
      text: ["This session is completed.", reason, "Sending a prompt resumes it."].filter(Boolean).join(" "),
    };
  if (session.status === "cancelled")
    return {
      icon: <CircleSlash aria-hidden />,
      text: "This session was cancelled. Sending a prompt resumes it.",
    };
  if (state.held)
    return {
      tone: "waiting",
      icon: <PlugZap aria-hidden />,
      text: "The agent died during this turn. Resume to restart it and continue.",
      action: { label: "Resume", run: () => void resume(session.id) },
    };
  return null;
}

export function SessionBanner({
  session,
  state,
  onFork,
}: {
  session: Session;
  state: SessionState;
  onFork: () => void;
}) {
  const banner = bannerOf(session, state, onFork);
  if (!banner) return null;
  return (
    <div className={`${css.banner} ${banner.tone ? css[banner.tone] : ""}`} role="status">
      {banner.icon}
      <p>{banner.text}</p>
      {banner.action && (
        <Button size="small" onClick={banner.action.run}>
          {banner.action.label}
        </Button>
      )}
    </div>
  );
}
