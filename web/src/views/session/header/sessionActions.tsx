/** What can be done with a session as it stands: one list, from which buttons, menu, palette and keys are made. */
import {
  Archive,
  ArchiveRestore,
  CircleCheck,
  CircleSlash,
  Copy,
  FileDown,
  Flag,
  GitFork,
  Link2,
  MessageCircleQuestion,
  Play,
  Square,
  Trash2,
  Users,
} from "lucide-react";
import type { ReactNode } from "react";
import {
  act,
  archiveSession,
  completeSession,
  deleteSession,
  resumeSession,
  stopSession,
} from "@/api/actions";
import { ApiError } from "@/api/client";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { toast, toastError } from "@/ui/feedback/toast";
import type { Opened } from "../SessionDialogs";
import type { Standing } from "../sessionState";

export interface Act {
  id: string;
  label: string;
  icon: ReactNode;
  keys?: string;
  /** Buttons in the header; all else is in the menu. */
  main?: "urgent" | "often";
  group: "branch" | "end" | "take" | "danger";
  danger?: boolean;
  run: () => unknown;
}

async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied.`);
  } catch {
    toast("The browser does not let the page copy.", { tone: "failed" });
  }
}

function download(session: Session, format: "markdown" | "json"): void {
  const link = document.createElement("a");
  link.href = `/api/sessions/${session.id}/export?format=${format}`;
  link.download = `session-${session.id.slice(-8)}.${format === "json" ? "json" : "md"}`;
  link.click();
}

/** A session with work to do is ended only when the person says so twice. */
async function complete(sessionId: string, force = false): Promise<void> {
  try {
    await completeSession(sessionId, { force });
    toast("The session is completed.", {
      action: { label: "Resume", run: () => void act(() => resumeSession(sessionId)) },
    });
  } catch (error) {
    if (!force && error instanceof ApiError && error.status === 409)
      toast(error.message, {
        tone: "failed",
        action: { label: "Complete anyway", run: () => void complete(sessionId, true) },
      });
    else toastError(error);
  }
}

async function cancel(sessionId: string): Promise<void> {
  if (await act(() => deleteSession(sessionId)))
    toast("The session is cancelled.", {
      action: { label: "Resume", run: () => void act(() => resumeSession(sessionId)) },
    });
}

export function sessionActs(session: Session, now: Standing, open: (which: Opened) => void): Act[] {
  const { id } = session;
  const active = session.status === "active";
  const resumable = now.held || (now.paused && !now.busy) || (now.ended && !now.broken);
  return [
    ...(now.busy
      ? [
          {
            id: "stop",
            label: "Stop",
            icon: <Square />,
            keys: ".",
            main: "urgent" as const,
            group: "end" as const,
            danger: true,
            run: () => act(() => stopSession(id)),
          },
        ]
      : []),
    ...(resumable
      ? [
          {
            id: "resume",
            label: "Resume",
            icon: <Play />,
            main: "urgent" as const,
            group: "end" as const,
            run: () => act(() => resumeSession(id)),
          },
        ]
      : []),
    {
      id: "fork",
      label: "Fork",
      icon: <GitFork />,
      keys: "f",
      main: "often",
      group: "branch",
      run: () => open("fork"),
    },
    {
      id: "spawn",
      label: "Spawn",
      icon: <Users />,
      keys: "s",
      main: "often",
      group: "branch",
      run: () => open("spawn"),
    },
    {
      id: "aside",
      label: "Ask aside",
      icon: <MessageCircleQuestion />,
      keys: "b",
      main: "often",
      group: "branch",
      run: () => open("aside"),
    },
    { id: "race", label: "Race…", icon: <Flag />, group: "branch", run: () => open("race") },
    ...(active
      ? [
          {
            id: "complete",
            label: "Complete",
            icon: <CircleCheck />,
            group: "end" as const,
            run: () => complete(id),
          },
          {
            id: "cancel",
            label: "Cancel session",
            icon: <CircleSlash />,
            group: "end" as const,
            run: () => cancel(id),
          },
        ]
      : []),
    {
      id: "archive",
      label: session.archived ? "Take out of the archive" : "Archive",
      icon: session.archived ? <ArchiveRestore /> : <Archive />,
      group: "end",
      run: () => act(() => archiveSession(id, { archived: !session.archived })),
    },
    {
      id: "markdown",
      label: "Export as Markdown",
      icon: <FileDown />,
      group: "take",
      run: () => download(session, "markdown"),
    },
    {
      id: "json",
      label: "Export as JSON",
      icon: <FileDown />,
      group: "take",
      run: () => download(session, "json"),
    },
    {
      id: "link",
      label: "Copy link",
      icon: <Link2 />,
      group: "take",
      run: () => copy(location.origin + routes.session(id), "Link"),
    },
    { id: "id", label: "Copy id", icon: <Copy />, group: "take", run: () => copy(id, "Id") },
    {
      id: "delete",
      label: "Delete…",
      icon: <Trash2 />,
      group: "danger",
      danger: true,
      run: () => open("delete"),
    },
  ];
}
