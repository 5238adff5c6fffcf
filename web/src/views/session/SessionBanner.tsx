/** Explains, above the composer, why a session does not work: archived, ended, failed, interrupted, parked or stuck. */
import { Archive, CircleCheck, CircleSlash, CircleX, Hourglass, PlugZap } from "lucide-react";
import type { ReactNode } from "react";
import { archiveSession, cancelTask, retryTask, runRequest, stopSession } from "@/api/actions";
import type { ParkedTask, Session, Stuck } from "@/api/types";
import { minuteOf } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { resume } from "@/views/forms/layout/toastMadeRoom";
import css from "./Session.module.css";
import type { SessionState } from "./sessionState";

interface Banner {
  tone?: "failed" | "waiting";
  icon: ReactNode;
  text: string;
  actions?: BannerAction[];
}

interface BannerAction {
  label: string;
  run: () => void;
}

const END_REASONS: Record<string, string> = {
  idle_timeout: "It was idle for too long.",
  made_room: "It was idle, and made room for another session.",
  archived: "It was archived.",
  imported: "It was imported, and its agent remembers it.",
};

const parkedText = ({ kind, agent, resumesAt }: ParkedTask) => {
  const limit = `${kind === "usage" ? "Usage" : "Rate"} limit of ${agent}`;
  return resumesAt ? `${limit}; resumes at ${minuteOf(resumesAt)}.` : `${limit}; waits for an answer.`;
};

const stuckText = (stuck: Stuck, since: string) =>
  stuck === "stalled"
    ? `Stalled: no output and no processor time since ${minuteOf(since)}.`
    : `Looping: the agent repeats the same tool calls, noticed at ${minuteOf(since)}.`;

export function bannerOf(session: Session, state: SessionState, onFork: () => void): Banner | null {
  const reason = END_REASONS[String(session.metadata.reason ?? "")];
  if (state.broken)
    return {
      tone: "failed",
      icon: <CircleX aria-hidden />,
      text: "This session failed and can’t continue. Fork it to continue from here.",
      actions: [{ label: "Fork", run: onFork }],
    };
  if (session.archived)
    return {
      icon: <Archive aria-hidden />,
      text: "This session is archived. Sending a prompt restores it.",
      actions: [
        {
          label: "Unarchive",
          run: () => void runRequest(() => archiveSession(session.id, { archived: false })),
        },
      ],
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
      actions: [{ label: "Resume", run: () => void resume(session.id) }],
    };
  const { parked, currentTask } = state;
  if (parked && currentTask)
    return {
      tone: "waiting",
      icon: <Hourglass aria-hidden />,
      text: parkedText(parked),
      actions: [
        { label: "Try now", run: () => void runRequest(() => retryTask(currentTask.id)) },
        { label: "Continue with another agent", run: onFork },
        { label: "Cancel", run: () => void runRequest(() => cancelTask(currentTask.id)) },
      ],
    };
  if (session.stuck && state.busy)
    return {
      tone: "waiting",
      icon: <Hourglass aria-hidden />,
      text: stuckText(session.stuck, session.stuckSince ?? session.updatedAt),
      actions: [{ label: "Stop", run: () => void runRequest(() => stopSession(session.id)) }],
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
      {banner.actions?.map((action) => (
        <Button key={action.label} size="small" onClick={action.run}>
          {action.label}
        </Button>
      ))}
    </div>
  );
}
