/** One session: its header, its transcript with the questions it asks, the box for prompts, and a panel at the side. */
import { useQuery } from "@tanstack/react-query";
import { type DragEvent, useCallback, useMemo, useRef, useState } from "react";
import { useSearchParams } from "wouter";
import { ApiError } from "@/api/client";
import { approvalsQuery, useSession, useTasks, useTree } from "@/api/queries";
import type { Approval, Session as Record, Task } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { useTitle } from "@/app/title";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import { nameOf } from "@/lib/words";
import { useTranscript } from "@/live/hooks";
import { Problem, Skeleton } from "@/ui/feedback/Placeholders";
import { Composer, type ComposerHandle } from "./composer/Composer";
import { Header } from "./header/Header";
import { sessionActs } from "./header/sessionActions";
import { Questions } from "./PendingApprovals";
import { QueueStrip } from "./queue/QueueStrip";
import css from "./Session.module.css";
import { Banners } from "./SessionBanner";
import { type Opened, SessionDialogs } from "./SessionDialogs";
import { standing } from "./sessionState";
import { type PanelTab, SidePanel } from "./sidePanel/SidePanel";
import { TranscriptView } from "./transcript/TranscriptView";
import { useSeen } from "./useMarkSeen";

const NO_TASKS: Task[] = [];
const WIDE = "(min-width: 68rem)";

export default function Session({ sessionId }: { sessionId: string }) {
  const query = useSession(sessionId);
  const [deleting, setDeleting] = useState(false);
  // What was removed while it was looked at is gone, whatever is still known of it. Who removed it here is first told
  // what became of its work.
  const gone = query.error instanceof ApiError && query.error.status === 404 && !deleting;
  if (query.data && !gone) return <Shown session={query.data} onDeleting={setDeleting} />;
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

function Shown({
  session,
  onDeleting,
}: {
  session: Record;
  /** Whether the dialog of deleting is open. */
  onDeleting: (open: boolean) => void;
}) {
  const { id } = session;
  useTitle(nameOf(session));
  const [search] = useSearchParams();
  const focusMessage = search.get("message");
  const transcript = useTranscript(id, focusMessage ?? undefined);
  const tasks = useTasks(id).data ?? NO_TASKS;
  const asked = useQuery({
    ...approvalsQuery,
    select: (all: Approval[]) => all.filter((one) => one.sessionId === id),
  }).data;
  const approvals = useMemo(() => asked ?? [], [asked]);
  const kin = useTree(id).data?.sessions ?? [];
  const now = useMemo(() => standing(session, tasks, approvals), [session, tasks, approvals]);
  useSeen(session, tasks);

  const wide = useMedia(WIDE);
  const [docked, setDocked] = usePref("session.panel", true);
  const [sheet, setSheet] = useState(false);
  const [tab, setTab] = usePref<PanelTab>("session.tab", "tree");
  const panelOpen = wide ? docked : sheet;
  const turnPanel = (open: boolean) => (wide ? setDocked(open) : setSheet(open));
  const show = (which: PanelTab) => {
    setTab(which);
    turnPanel(true);
  };

  const [opened, setOpened] = useState<{ which: Opened; taskId?: string } | null>(null);
  const acts = sessionActs(session, now, (which) => {
    setOpened({ which });
    onDeleting(which === "delete");
  });
  // The same function each time: all messages in sight would be drawn again with it.
  const forkFrom = useCallback((taskId: string) => setOpened({ which: "fork", taskId }), []);
  const composer = useRef<ComposerHandle>(null);
  useActions([
    ...acts.map(({ label, keys, run }) => ({ label, keys, run: () => void run(), group: "This session" })),
    { label: "Write a prompt", keys: "r", group: "This session", run: () => composer.current?.focus() },
    {
      label: "Go to the question",
      keys: "w",
      group: "This session",
      words: "approval permission",
      run: () => document.querySelector<HTMLElement>("[data-approval]")?.focus(),
    },
    { label: "Settings of this session", keys: "e", group: "This session", run: () => show("details") },
    { label: "Show its tree", keys: "t", group: "This session", run: () => show("tree") },
    { label: "Show its queue", keys: "q", group: "This session", run: () => show("queue") },
    {
      label: "Show its changes",
      keys: "d",
      group: "This session",
      words: "diff",
      run: () => show("changes"),
    },
    { label: "Side panel", keys: "p", group: "This session", run: () => turnPanel(!panelOpen) },
  ]);

  const [dropping, setDropping] = useState(false);
  const withFiles = (event: DragEvent) => event.dataTransfer.types.includes("Files");
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files may be dropped anywhere; the button is the other way
    <div
      className={`${css.session} ${dropping ? css.dropping : ""}`}
      onDragOver={(event) => {
        if (!withFiles(event)) return;
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setDropping(false);
      }}
      onDrop={(event) => {
        if (!withFiles(event)) return;
        event.preventDefault();
        setDropping(false);
        composer.current?.attach([...event.dataTransfer.files]);
      }}
    >
      <Header
        session={session}
        kin={kin}
        approvals={approvals}
        now={now}
        acts={acts}
        panelOpen={panelOpen}
        onPanel={() => turnPanel(!panelOpen)}
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
              footer={<Questions session={session} approvals={approvals} />}
            />
          </div>
          <div className={css.below}>
            <Banners session={session} now={now} onFork={() => setOpened({ which: "fork" })} />
            {!(wide && docked && tab === "queue") && <QueueStrip now={now} onOpen={() => show("queue")} />}
            <Composer ref={composer} session={session} tasks={tasks} now={now} />
          </div>
        </div>
        <SidePanel
          session={session}
          tasks={tasks}
          now={now}
          wide={wide}
          open={panelOpen}
          tab={tab}
          onTab={setTab}
          onClose={() => turnPanel(false)}
        />
      </div>
      <SessionDialogs
        session={session}
        opened={opened}
        onClose={() => {
          setOpened(null);
          onDeleting(false);
        }}
      />
    </div>
  );
}
