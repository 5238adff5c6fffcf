/** A tree as an indented outline with whole titles; arrow keys move through it and fold it. */
import { ChevronRight } from "lucide-react";
import { type KeyboardEvent, type MouseEvent, useEffect, useMemo, useRef, useState } from "react";
import type { Node } from "@/api/types";
import { sessionName } from "@/lib/words";
import { StateMark } from "@/ui/labels/Badge";
import { foldWords } from "@/views/tree/canvas/nodes/FoldNode";
import { type Fold, isFold, type Shown } from "@/views/tree/foldFinished";
import { type TreeBranch, walk } from "@/views/tree/lineage";
import { KindMark, SessionMarks } from "@/views/tree/SessionMarks";
import css from "./TreeOutline.module.css";

const DEEPEST = 8;

export interface TreeOutlineProps {
  branches: TreeBranch<Shown>[];
  open: string | null;
  picked: string[] | null;
  /** The session that the Tab key reaches first. */
  start: string;
  onChoose: (sessionId: string) => void;
  /** Shows or folds everything below a session. */
  onFold: (sessionId: string, open: boolean) => void;
}

interface Row {
  item: Shown;
  depth: number;
  /** Whether its children are visible; null if it has none. */
  expanded: boolean | null;
}

/** Lists the rows of an outline; a fold is the last row of its session. */
export function outlineRows(branches: TreeBranch<Shown>[]): Row[] {
  return [...walk(branches)].map(([item, depth, { children }]) => ({
    item,
    depth,
    expanded: children.length ? !children.every(({ node }) => isFold(node)) : null,
  }));
}

export function TreeOutline({ branches, open, picked, start, onChoose, onFold }: TreeOutlineProps) {
  const rows = useMemo(() => outlineRows(branches), [branches]);
  const [current, setCurrent] = useState(start);
  const list = useRef<HTMLDivElement>(null);
  const focus = rows.some((row) => row.item.id === current) ? current : (rows[0]?.item.id ?? "");
  const rowOf = (id: string) => list.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`);
  useEffect(() => {
    list.current
      ?.querySelector(`[data-row="${CSS.escape(open ?? start)}"]`)
      ?.scrollIntoView({ block: "nearest" });
  }, [open, start]);

  const act = (item: Shown) => (isFold(item) ? onFold(item.foldedBelow, true) : onChoose(item.id));
  const go = (id: string | undefined) => {
    if (!id) return;
    setCurrent(id);
    rowOf(id)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const at = rows.findIndex((row) => row.item.id === focus);
    const row = rows[at];
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const { item, expanded } = row;
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(rows[at + 1]?.item.id),
      ArrowUp: () => go(rows[at - 1]?.item.id),
      Home: () => go(rows[0]?.item.id),
      End: () => go(rows.at(-1)?.item.id),
      ArrowRight: () => (expanded === false ? onFold(item.id, true) : expanded && go(rows[at + 1]?.item.id)),
      ArrowLeft: () =>
        expanded
          ? onFold(item.id, false)
          : go(rows.slice(0, at).findLast((above) => above.depth < row.depth)?.item.id),
      Enter: () => act(item),
      " ": () => act(item),
    };
    const run = keys[event.key];
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };

  return (
    <nav className={css.outline} aria-label="Outline">
      <div ref={list} role="tree" aria-label="Sessions" className={css.rows} onKeyDown={onKeyDown}>
        {rows.map(({ item, depth, expanded }) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys
          <div
            key={item.id}
            role="treeitem"
            data-row={item.id}
            className={`${css.row} ${isFold(item) ? css.fold : ""}`}
            aria-level={depth + 1}
            aria-expanded={expanded ?? undefined}
            aria-selected={picked ? picked.includes(item.id) : item.id === open}
            tabIndex={item.id === focus ? 0 : -1}
            style={{ paddingLeft: 6 + Math.min(depth, DEEPEST) * 14 }}
            onClick={() => {
              setCurrent(item.id);
              act(item);
            }}
          >
            <Chevron
              expanded={expanded}
              onClick={(event) => {
                event.stopPropagation();
                setCurrent(item.id);
                onFold(item.id, !expanded);
              }}
            />
            {isFold(item) ? <FoldRow fold={item} /> : <SessionRow node={item} />}
          </div>
        ))}
      </div>
    </nav>
  );
}

/** Folds and unfolds with the mouse; the keyboard has its arrow keys. */
const Chevron = ({
  expanded,
  onClick,
}: {
  expanded: boolean | null;
  onClick: (event: MouseEvent) => void;
}) =>
  expanded === null ? (
    <span className={css.chevron} aria-hidden />
  ) : (
    <span className={css.chevron} data-expanded={expanded} aria-hidden onClick={onClick}>
      <ChevronRight />
    </span>
  );

const FoldRow = ({ fold }: { fold: Fold }) => <span className={css.title}>{foldWords(fold)}</span>;

const SessionRow = ({ node }: { node: Node }) => (
  <>
    <StateMark state={node} />
    <KindMark kind={node.kind} />
    <span className={css.title}>{sessionName(node)}</span>
    <SessionMarks of={node} worktree={false} />
  </>
);
