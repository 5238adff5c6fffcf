/** The scroll area of a transcript: only the rows in sight are there, older pages come as the top nears, and the end is
 * kept in sight for who is there. */
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
import { firstLine } from "@/lib/format";
import { useEntry } from "@/live/hooks";
import type { Shape } from "@/live/transcript/transcript";
import { Button } from "@/ui/controls/Button";
import { ForkLine } from "./ForkLine";
import { Entry } from "./messages/MessageView";
import { isPrepended, type Row, rowsOf } from "./rows";
import { useAround } from "./TranscriptContext";
import css from "./TranscriptView.module.css";
import { TaskLine } from "./turns/TurnLine";
import { useMoves } from "./useMessageKeys";
import { useEnd } from "./useStickToEnd";

/** The next page is asked for this far before its place comes into sight. */
const AHEAD = 2000;
/** What stands above the rows always has this height, so that it moves nothing. */
const TOP = 48;

const Grown = createContext<() => void>(() => {});

/** Around the rows: its height is theirs, and when that changes the end is followed before anything is painted. */
function Rows({ style, children, ref }: CustomContainerComponentProps & { ref?: Ref<HTMLDivElement> }) {
  const grown = useContext(Grown);
  const { height } = style;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height is what this is about
  useLayoutEffect(grown, [grown, height]);
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
        {row.kind === "message" && <Entry id={row.key} tight={row.tight} marked={marked} />}
        {row.kind === "task" && <TaskLine taskId={row.taskId} />}
        {row.kind === "fork" && <ForkLine />}
      </div>
    );
  },
  (a, b) =>
    a.row.key === b.row.key &&
    a.marked === b.marked &&
    (a.row.kind !== "message" || (b.row.kind === "message" && a.row.tight === b.row.tight)),
);

export function List({
  shape,
  focusMessage,
  footer,
}: {
  shape: Shape;
  focusMessage: string | null;
  footer: ReactNode;
}) {
  const { session, transcript } = useAround();
  const scroller = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const isFork = Boolean(session.forkedFromSessionId);
  const rows = useMemo(
    () => rowsOf({ ...shape, message: (id) => transcript.entry(id)?.message, sessionId: session.id, isFork }),
    [shape, transcript, session.id, isFork],
  );
  const before = useRef<Row[]>([]);
  const shift = isPrepended(before.current, rows);
  useLayoutEffect(() => {
    before.current = rows;
  }, [rows]);

  const end = useEnd(scroller, inner, !shape.newer);
  const [problem, setProblem] = useState(false);
  const more = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const failed = () => setProblem(true);
    if (shape.older && !problem && element.scrollTop < AHEAD) void transcript.loadOlder().catch(failed);
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (shape.newer && !problem && below < AHEAD) void transcript.loadNewer().catch(failed);
  }, [shape.older, shape.newer, problem, transcript]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each page there may be room for one more
  useEffect(more, [more, rows]);

  // Opens at the message that was asked for, else at the end.
  const placed = useRef<string | null | undefined>(undefined);
  const target = focusMessage ? rows.findIndex((row) => row.key === focusMessage) : -1;
  const { stick, leave } = end;
  useLayoutEffect(() => {
    if (placed.current === focusMessage || !rows.length) return;
    if (target >= 0) {
      placed.current = focusMessage;
      leave();
      list.current?.scrollToIndex(target, { align: "start", offset: -TOP });
    } else if (placed.current === undefined && !shape.newer) {
      if (!focusMessage) placed.current = focusMessage;
      stick();
    }
  }, [focusMessage, target, rows, shape.newer, stick, leave]);

  const toEnd = useCallback(() => {
    if (shape.newer) void transcript.load().then(stick);
    else stick();
  }, [shape.newer, transcript, stick]);
  useMoves({ rows, list, scroller, toEnd });

  // What was last when the reader went away from the end.
  const newest = shape.ids.at(-1);
  const left = useRef(newest);
  if (end.atEnd) left.current = newest;
  const waits = session.activity === "waiting_permission";
  return (
    <div className={css.wrap}>
      <section
        ref={scroller}
        className={css.scroll}
        role="log"
        aria-live="off"
        aria-label="Transcript"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        onScroll={() => {
          end.scrolled();
          more();
        }}
      >
        <Grown value={end.grown}>
          <div ref={inner}>
            <Top older={shape.older} problem={problem} retry={() => setProblem(false)} />
            <Virtualizer
              ref={list}
              as={Rows}
              data={rows}
              scrollRef={scroller}
              startMargin={TOP}
              shift={shift}
              bufferSize={600}
            >
              {(row: Row) => <RowView key={row.key} row={row} marked={row.key === focusMessage} />}
            </Virtualizer>
            <div className={`${css.column} ${css.footer}`}>{footer}</div>
          </div>
        </Grown>
      </section>
      {newest && <Spoken id={newest} />}
      {!end.atEnd && (
        <div className={css.jump}>
          <Button look={waits ? "primary" : "plain"} icon={waits ? <Hand /> : <ArrowDown />} onClick={toEnd}>
            {waits
              ? "Waits for your answer"
              : newest !== left.current || shape.newer
                ? "New messages"
                : "To the end"}
          </Button>
        </div>
      )}
    </div>
  );
}

/** Read out when an answer is there as a whole: text that grows would be read again and again. */
function Spoken({ id }: { id: string }) {
  const entry = useEntry(useAround().transcript, id);
  const { role, content } = entry?.message ?? {};
  const over = role === "agent" && content?.type === "text" && !content.partial;
  return (
    <div role="status" className="visually-hidden">
      {over && entry ? firstLine(entry.text, 200) : ""}
    </div>
  );
}

function Top({ older, problem, retry }: { older: boolean; problem: boolean; retry: () => void }) {
  return (
    <div className={css.top} style={{ height: TOP }}>
      {problem ? (
        <Button size="small" onClick={retry}>
          Messages could not be loaded. Try again
        </Button>
      ) : (
        older && <span>Loading older messages…</span>
      )}
    </div>
  );
}
