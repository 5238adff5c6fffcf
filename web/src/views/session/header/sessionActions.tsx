/** Lists the actions that a session's state allows. Buttons, menu, palette and shortcuts are built from this list. */
import {
  Archive,
  ArchiveRestore,
  CircleCheck,
  CircleSlash,
  Copy,
  FileDown,
  Flag,
  FolderOpen,
  GitFork,
  History,
  Link2,
  MessageCircleQuestion,
  MessageSquareCode,
  MonitorPlay,
  Play,
  Square,
  SquareTerminal,
  Terminal,
  Trash2,
  Users,
} from "lucide-react";
import type { ReactNode } from "react";
import {
  archiveSession,
  catchUp,
  completeSession,
  deleteSession,
  runRequest,
  stopSession,
} from "@/api/actions";
import { ApiError, fetchFile } from "@/api/client";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { copy } from "@/lib/clipboard";
import { EDITORS, type Editor, editorLink } from "@/lib/editorLink";
import { saveFile } from "@/lib/files";
import { plural } from "@/lib/format";
import { getPref } from "@/lib/prefs";
import { sessionName } from "@/lib/words";
import { toast, toastError } from "@/ui/feedback/toast";
import { resume } from "@/views/forms/layout/toastMadeRoom";
import { openDrawer } from "@/views/terminal/drawer";
import type { SessionDialog } from "../SessionDialogs";
import type { SessionState } from "../sessionState";

export interface SessionAction {
  id: string;
  label: string;
  icon: ReactNode;
  keys?: string;
  /** Shown as a button in the header: always, or where there is room. All others are only in the menu. */
  button?: "urgent" | "often";
  group: "branch" | "end" | "export" | "danger";
  danger?: boolean;
  /** Whether only admins may do it. */
  admin?: boolean;
  run: () => unknown;
}

async function catchUpNow(sessionId: string): Promise<void> {
  const { turns } = await catchUp(sessionId);
  toast(
    turns ? `${plural(turns, "turn")} took place outside of Bough.` : "No turns took place outside of Bough.",
  );
}

const download = (session: Session, format: "markdown" | "json") =>
  runRequest(async () =>
    saveFile(
      await fetchFile(`/api/sessions/${session.id}/export?format=${format}`),
      `session-${session.id.slice(-8)}.${format === "json" ? "json" : "md"}`,
    ),
  );

/** Completes a session. If it still has work to do, asks for confirmation first. */
async function complete(sessionId: string, force = false): Promise<void> {
  try {
    await completeSession(sessionId, { force });
    toast("Session completed.", {
      action: { label: "Resume", run: () => void resume(sessionId) },
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

async function endSession(sessionId: string): Promise<void> {
  if (await runRequest(() => deleteSession(sessionId)))
    toast("Session ended.", {
      action: { label: "Resume", run: () => void resume(sessionId) },
    });
}

export function sessionActions(
  session: Session,
  state: SessionState,
  open: (dialog: SessionDialog) => void,
  navigate: (path: string) => void,
): SessionAction[] {
  const { id } = session;
  const editor = getPref<Editor>("editor", "vscode");
  const link = editorLink(editor, session.cwd);
  const isActive = session.status === "active";
  const canResume = state.held || (state.paused && !state.busy) || (state.ended && !state.broken);
  return [
    ...(state.busy
      ? [
          {
            id: "stop",
            label: "Stop",
            icon: <Square />,
            keys: ".",
            button: "urgent" as const,
            group: "end" as const,
            danger: true,
            run: () => runRequest(() => stopSession(id)),
          },
        ]
      : []),
    ...(canResume
      ? [
          {
            id: "resume",
            label: "Resume",
            icon: <Play />,
            button: "urgent" as const,
            group: "end" as const,
            run: () => resume(id),
          },
        ]
      : []),
    {
      id: "review",
      label: "Review",
      icon: <MessageSquareCode />,
      keys: "v",
      button: "often",
      group: "export",
      run: () => navigate(routes.review("session", id)),
    },
    {
      id: "fork",
      label: "Fork",
      icon: <GitFork />,
      keys: "f",
      button: "often",
      group: "branch",
      run: () => open("fork"),
    },
    {
      id: "spawn",
      label: "Spawn",
      icon: <Users />,
      keys: "s",
      button: "often",
      group: "branch",
      run: () => open("spawn"),
    },
    {
      id: "side-question",
      label: "Side question",
      icon: <MessageCircleQuestion />,
      keys: "b",
      button: "often",
      group: "branch",
      run: () => open("sideQuestion"),
    },
    { id: "race", label: "Race…", icon: <Flag />, group: "branch", run: () => open("race") },
    ...(isActive
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
            label: "End session",
            icon: <CircleSlash />,
            group: "end" as const,
            run: () => endSession(id),
          },
        ]
      : []),
    {
      id: "archive",
      label: session.archived ? "Unarchive" : "Archive",
      icon: session.archived ? <ArchiveRestore /> : <Archive />,
      group: "end",
      run: () => runRequest(() => archiveSession(id, { archived: !session.archived })),
    },
    ...(session.activity === "idle"
      ? [
          {
            id: "terminal",
            label: "Open in terminal…",
            icon: <SquareTerminal />,
            group: "export" as const,
            run: () => open("terminal"),
          },
          {
            id: "catch-up",
            label: "Catch up with terminal",
            icon: <History />,
            group: "export" as const,
            run: () => runRequest(() => catchUpNow(id)),
          },
        ]
      : []),
    ...(session.worktreeId
      ? [
          {
            id: "run",
            label: "Run…",
            icon: <MonitorPlay />,
            button: "often" as const,
            group: "branch" as const,
            run: () => open("run"),
          },
        ]
      : []),
    {
      id: "shell",
      label: "Terminal",
      icon: <Terminal />,
      group: "branch",
      admin: true,
      run: () => openDrawer({ place: { sessionId: id }, name: sessionName(session) }),
    },
    ...(link
      ? [
          {
            id: "editor",
            label: `Open in ${EDITORS[editor]}`,
            icon: <FolderOpen />,
            group: "export" as const,
            run: () => window.open(link, "_self"),
          },
        ]
      : []),
    {
      id: "path",
      label: "Copy path",
      icon: <Copy />,
      group: "export",
      run: () => copy(session.cwd, "Path"),
    },
    {
      id: "markdown",
      label: "Export as Markdown",
      icon: <FileDown />,
      group: "export",
      run: () => download(session, "markdown"),
    },
    {
      id: "json",
      label: "Export as JSON",
      icon: <FileDown />,
      group: "export",
      run: () => download(session, "json"),
    },
    {
      id: "link",
      label: "Copy link",
      icon: <Link2 />,
      group: "export",
      run: () => copy(location.origin + routes.session(id), "Link"),
    },
    { id: "id", label: "Copy ID", icon: <Copy />, group: "export", run: () => copy(id, "ID") },
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
