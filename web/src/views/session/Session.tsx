/** The view of one session: header, transcript with pending approvals, composer, and side panel. */
import { useQuery } from "@tanstack/react-query";
import { type DragEvent, useCallback, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { ApiError } from "@/api/client";
import { approvalsQuery, useMay, useSession, useTasks, useTree } from "@/api/queries";
import type { Approval, Session as SessionRecord, Task } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { useTitle } from "@/app/title";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import { sessionName } from "@/lib/words";
import { useTranscript } from "@/live/hooks";
import { Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { FinishBar } from "@/views/finish/FinishBar";
import { SessionDraftBar } from "@/views/review/SessionDraftBar";
import { Composer, type ComposerHandle } from "./composer/Composer";
import { Header } from "./header/Header";
import { sessionActions } from "./header/sessionActions";
import { ModeNotice } from "./ModeNotice";
import { PendingApprovals } from "./PendingApprovals";
import { QueueStrip } from "./queue/QueueStrip";
import css from "./Session.module.css";
import { SessionBanner } from "./SessionBanner";
import { type SessionDialog, SessionDialogs } from "./SessionDialogs";
import { sessionState } from "./sessionState";
import { type PanelTab, SidePanel } from "./sidePanel/SidePanel";
import { TranscriptView } from "./transcript/TranscriptView";
import { useMarkSeen } from "./useMarkSeen";

const NO_TASKS: Task[] = [];
const WIDE = "(min-width: 68rem)";
const ACTION_GROUP = "This session";

export default function Session({ sessionId }: { sessionId: string }) {
  const query = useSession(sessionId);
  const [deleting, setDeleting] = useState(false);
  // A session that was deleted elsewhere is no longer shown, even if its record is still cached. While the delete dialog
  // is open here, it still has to report what became of the session's work.
  const isGone = query.error instanceof ApiError && query.error.status === 404 && !deleting;
  if (query.data && !isGone) return <LoadedSession session={query.data} onDeleting={setDeleting} />;
  if (query.error)
    return (
      <div className={css.lone}>
        <h1 className="visually-hidden">Session</h1>
        <Problem error={query.error} retry={() => void query.refetch()} />
      </div>
    );
  return (
    <div className={css.lone}>
      <h1 className="visually-hidden">Session</h1>
      <Skeleton lines={7} />
    </div>
  );
}

function LoadedSession({
  session,
  onDeleting,
}: {
  session: SessionRecord;
  /** Called with whether the delete dialog is open. */
  onDeleting: (open: boolean) => void;
}) {
  const { id } = session;
  useTitle(sessionName(session));
  const [search] = useSearchParams();
  const focusMessage = search.get("message");
  const transcript = useTranscript(id, focusMessage ?? undefined);
  const tasks = useTasks(id).data ?? NO_TASKS;
  const pending = useQuery({
    ...approvalsQuery,
    select: (all: Approval[]) => all.filter((approval) => approval.sessionId === id),
  }).data;
  const approvals = useMemo(() => pending ?? [], [pending]);
  const treeSessions = useTree(id).data?.sessions ?? [];
  const state = useMemo(() => sessionState(session, tasks, approvals), [session, tasks, approvals]);
  useMarkSeen(session, tasks);

  const isWide = useMedia(WIDE);
  const [isDocked, setDocked] = usePref("session.panel", true);
  const [isSheetOpen, setSheetOpen] = useState(false);
  const [tab, setTab] = usePref<PanelTab>("session.tab", "tree");
  const isPanelOpen = isWide ? isDocked : isSheetOpen;
  const setPanelOpen = (open: boolean) => (isWide ? setDocked(open) : setSheetOpen(open));
  const showTab = (shown: PanelTab) => {
    setTab(shown);
    setPanelOpen(true);
  };

  const [openDialog, setOpenDialog] = useState<{ dialog: SessionDialog; taskId?: string } | null>(null);
  const mayWork = useMay("operator");
  const mayAdmin = useMay("admin");
  const [, navigate] = useLocation();
  const openAction = (dialog: SessionDialog) => {
    setOpenDialog({ dialog });
    onDeleting(dialog === "delete");
  };
  const actions = sessionActions(session, state, openAction, navigate).filter(
    ({ group, admin }) => (mayWork || group === "export") && (mayAdmin || !admin),
  );
  // A stable function: a new one would redraw every message in sight.
  const forkFrom = useCallback((taskId: string) => setOpenDialog({ dialog: "fork", taskId }), []);
  const composer = useRef<ComposerHandle>(null);
  useActions([
    ...actions.map(({ label, keys, run }) => ({ label, keys, run: () => void run(), group: ACTION_GROUP })),
    { label: "Write a prompt", keys: "r", group: ACTION_GROUP, run: () => composer.current?.focus() },
    {
      label: "Go to pending approval",
      keys: "w",
      group: ACTION_GROUP,
      words: "question permission",
      run: () => document.querySelector<HTMLElement>("[data-approval]")?.focus(),
    },
    { label: "Session settings", keys: "e", group: ACTION_GROUP, run: () => showTab("details") },
    { label: "Show tree", keys: "t", group: ACTION_GROUP, run: () => showTab("tree") },
    { label: "Show queue", keys: "q", group: ACTION_GROUP, run: () => showTab("queue") },
    {
      label: "Show changes",
      keys: "d",
      group: ACTION_GROUP,
      words: "diff",
      run: () => showTab("changes"),
    },
    { label: "Toggle side panel", keys: "p", group: ACTION_GROUP, run: () => setPanelOpen(!isPanelOpen) },
  ]);

  const [isDropTarget, setDropTarget] = useState(false);
  const hasFiles = (event: DragEvent) => event.dataTransfer.types.includes("Files");
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files may be dropped anywhere; the button does the same
    <div
      className={`${css.session} ${isDropTarget ? css.dropping : ""}`}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setDropTarget(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDropTarget(false);
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setDropTarget(false);
        composer.current?.attach([...event.dataTransfer.files]);
      }}
    >
      <Header
        session={session}
        treeSessions={treeSessions}
        approvals={approvals}
        state={state}
        actions={actions}
        isPanelOpen={isPanelOpen}
        onPanel={() => setPanelOpen(!isPanelOpen)}
      />
      <div className={css.body}>
        <div className={css.talk}>
          <div className={css.transcript}>
            <TranscriptView
              session={session}
              tasks={tasks}
              transcript={transcript}
              focusMessage={focusMessage}
              onFork={forkFrom}
              footer={<PendingApprovals session={session} approvals={approvals} />}
            />
          </div>
          <div className={css.below}>
            <SessionBanner session={session} state={state} onFork={() => setOpenDialog({ dialog: "fork" })} />
            {mayWork && <SessionDraftBar session={session} />}
            <ModeNotice session={session} task={state.currentTask} />
            {!(isWide && isDocked && tab === "queue") && (
              <QueueStrip state={state} onOpen={() => showTab("queue")} />
            )}
            {session.worktreeId && <FinishBar worktreeId={session.worktreeId} />}
            {mayWork && (
              <Composer
                ref={composer}
                session={session}
                tasks={tasks}
                state={state}
                onSideQuestion={() => openAction("sideQuestion")}
                focused={pending && pending.length === 0 && !focusMessage}
              />
            )}
          </div>
        </div>
        <SidePanel
          session={session}
          tasks={tasks}
          state={state}
          wide={isWide}
          open={isPanelOpen}
          tab={tab}
          onTab={setTab}
          onClose={() => setPanelOpen(false)}
        />
      </div>
      <SessionDialogs
        session={session}
        openDialog={openDialog}
        onClose={() => {
          setOpenDialog(null);
          onDeleting(false);
        }}
      />
    </div>
  );
}
