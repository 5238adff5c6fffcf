/** The scroll area of a transcript: draws only the rows in sight, loads older pages near the top, and follows the end
 * while the reader is there. */
import { ArrowDown, Hand } from "lucide-react";
import {
  createContext,
  memo,
  type ReactNode,
  type Ref,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { type CustomContainerComponentProps, Virtualizer, type VirtualizerHandle } from "virtua";
import { useAsksQuestion } from "@/api/queries";
import { firstLine } from "@/lib/format";
import { wasRemovedFromQueue } from "@/lib/words";
import { useEntry } from "@/live/hooks";
import type { TranscriptOutline } from "@/live/transcript/transcript";
import { Button } from "@/ui/controls/Button";
import { ForkLine } from "./ForkLine";
import { MessageView } from "./messages/MessageView";
import { useTranscriptContext } from "./TranscriptContext";
import css from "./TranscriptView.module.css";
import { isPrepended, type Row, rowsOf } from "./transcriptRows";
import { TurnLine } from "./turns/TurnLine";
import { useMessageKeys } from "./useMessageKeys";
import { useStickToEnd } from "./useStickToEnd";

/** The next page is requested this many pixels before its place comes into sight. */
const LOAD_AHEAD = 2000;
/** The area above the rows always has this height, so that its contents never move the rows. */
const TOP_HEIGHT = 48;

const OnGrow = createContext<() => void>(() => {});

/** Wraps the rows. When their height changes, follows the end before anything is painted. */
function RowsContainer({
  style,
  children,
  ref,
}: CustomContainerComponentProps & { ref?: Ref<HTMLDivElement> }) {
  const onGrow = useContext(OnGrow);
  const { height } = style;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the height changes
  useLayoutEffect(onGrow, [onGrow, height]);
  return (
    <div ref={ref} style={style}>
      {children}
    </div>
  );
}

const RowView = memo(
  function RowView({ row, marked }: { row: Row; marked: boolean }) {
    return (
      <div className={css.column}>
        {row.kind === "message" && <MessageView id={row.key} tight={row.tight} marked={marked} />}
        {row.kind === "turn" && <TurnLine taskId={row.taskId} />}
        {row.kind === "fork" && <ForkLine />}
      </div>
    );
  },
  (a, b) =>
    a.row.key === b.row.key &&
    a.marked === b.marked &&
    (a.row.kind !== "message" || (b.row.kind === "message" && a.row.tight === b.row.tight)),
);

export function MessageList({
  outline,
  focusMessage,
  footer,
}: {
  outline: TranscriptOutline;
  focusMessage: string | null;
  footer: ReactNode;
}) {
  const { session, transcript, tasks } = useTranscriptContext();
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const isFork = Boolean(session.forkedFromSessionId);
  // As text: a new list of tasks comes with every event, and rebuilding the rows costs time.
  const removed = useMemo(
    () => [...tasks.values()].flatMap((task) => (wasRemovedFromQueue(task) ? [task.id] : [])).join(),
    [tasks],
  );
  const rows = useMemo(
    () =>
      rowsOf({
        ...outline,
        message: (id) => transcript.entry(id)?.message,
        sessionId: session.id,
        isFork,
        wasRemoved: (taskId) => removed.includes(taskId),
      }),
    [outline, transcript, session.id, isFork, removed],
  );
  const previousRows = useRef<Row[]>([]);
  const shift = isPrepended(previousRows.current, rows);
  useLayoutEffect(() => {
    previousRows.current = rows;
  }, [rows]);

  const end = useStickToEnd(scroller, content, !outline.hasNewer);
  const [loadFailed, setLoadFailed] = useState(false);
  const loadMore = useCallback(() => {
    const element = scroller.current;
    if (!element || loadFailed) return;
    const onError = () => setLoadFailed(true);
    if (outline.hasOlder && element.scrollTop < LOAD_AHEAD) void transcript.loadOlder().catch(onError);
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (outline.hasNewer && below < LOAD_AHEAD) void transcript.loadNewer().catch(onError);
  }, [outline.hasOlder, outline.hasNewer, loadFailed, transcript]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each page there may be room for another
  useEffect(loadMore, [loadMore, rows]);

  // Opens at the linked message, else at the end.
  const placedAt = useRef<string | null | undefined>(undefined);
  const target = focusMessage ? rows.findIndex((row) => row.key === focusMessage) : -1;
  const { stick, release } = end;
  useLayoutEffect(() => {
    if (placedAt.current === focusMessage || !rows.length) return;
    if (target >= 0) {
      placedAt.current = focusMessage;
      release();
      list.current?.scrollToIndex(target, { align: "start", offset: -TOP_HEIGHT });
    } else if (placedAt.current === undefined && !outline.hasNewer) {
      if (!focusMessage) placedAt.current = focusMessage;
      stick();
    }
  }, [focusMessage, target, rows, outline.hasNewer, stick, release]);

  const toEnd = useCallback(() => {
    if (outline.hasNewer) void transcript.load().then(stick);
    else stick();
  }, [outline.hasNewer, transcript, stick]);
  useMessageKeys({ rows, list, scroller, toEnd });

  // The newest message when the reader scrolled away from the end.
  const newest = outline.ids.at(-1);
  const newestAtEnd = useRef(newest);
  if (end.atEnd) newestAtEnd.current = newest;
  const hasNews = newest !== newestAtEnd.current || outline.hasNewer;
  const needsApproval = session.activity === "waiting_permission";
  const asks = useAsksQuestion(session.id);
  return (
    <div className={css.wrap}>
      <section
        ref={scroller}
        className={css.scroll}
        role="log"
        aria-live="off"
        aria-label="Transcript"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
        tabIndex={0}
        onScroll={() => {
          end.onScroll();
          loadMore();
        }}
      >
        <OnGrow value={end.onGrow}>
          <div ref={content}>
            <Top hasOlder={outline.hasOlder} failed={loadFailed} retry={() => setLoadFailed(false)} />
            <Virtualizer
              ref={list}
              as={RowsContainer}
              data={rows}
              scrollRef={scroller}
              startMargin={TOP_HEIGHT}
              shift={shift}
              bufferSize={600}
            >
              {(row: Row) => <RowView key={row.key} row={row} marked={row.key === focusMessage} />}
            </Virtualizer>
            <div className={`${css.column} ${css.footer}`}>{footer}</div>
          </div>
        </OnGrow>
      </section>
      {newest && <AnnouncedAnswer id={newest} />}
      {!end.atEnd && (
        <div className={css.jump}>
          <Button
            variant={needsApproval ? "primary" : "plain"}
            icon={needsApproval ? <Hand /> : <ArrowDown />}
            onClick={toEnd}
          >
            {needsApproval
              ? asks
                ? "Asks you a question"
                : "Needs your approval"
              : hasNews
                ? "New messages"
                : "Jump to end"}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Announces an answer to screen readers once it is complete: growing text would be read again and again. */
function AnnouncedAnswer({ id }: { id: string }) {
  const entry = useEntry(useTranscriptContext().transcript, id);
  const { role, content } = entry?.message ?? {};
  const isComplete = role === "agent" && content?.type === "text" && !content.partial;
  return (
    <div role="status" className="visually-hidden">
      {isComplete && entry ? firstLine(entry.text, 200) : ""}
    </div>
  );
}

function Top({ hasOlder, failed, retry }: { hasOlder: boolean; failed: boolean; retry: () => void }) {
  return (
    <div className={css.top} style={{ height: TOP_HEIGHT }}>
      {failed ? (
        <Button size="small" onClick={retry}>
          Couldn’t load messages. Try again
        </Button>
      ) : (
        hasOlder && <span>Loading older messages…</span>
      )}
    </div>
  );
}
