/** A board: worktrees as cards with their session trees, on a canvas or as a list. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Columns3, FolderPlus, LayoutGrid, List, Sparkles } from "lucide-react";
import { useMemo, useState } from "react";
import { cardsQuery, useBoards } from "@/api/queries";
import type { Board as BoardRecord, Card } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { plural } from "@/lib/format";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import { Button, ButtonLink, IconButton } from "@/ui/controls/Button";
import { Switch } from "@/ui/controls/Field";
import { Empty, Problem, QueryResult, Skeleton } from "@/ui/feedback/Placeholders";
import css from "./Board.module.css";
import { BoardFilters } from "./BoardFilters";
import { BoardList } from "./BoardList";
import { BoardMenu } from "./BoardMenu";
import { BoardCanvas } from "./canvas/BoardCanvas";
import { cardId } from "./canvas/cardLayout";
import { type CardAct, CardContext } from "./card/Card";
import { CardDialogs } from "./card/CardDialogs";
import { BoardColumns } from "./columns/BoardColumns";
import { filtered, NO_FILTER } from "./filterCards";
import { moveCard, moveToBoard, tidyBoard } from "./moveCards";

/** The ways to show a board, in the order in which `v` walks through them. */
const VIEWS = [
  { view: "canvas", label: "Canvas view", icon: <LayoutGrid /> },
  { view: "columns", label: "Columns view", icon: <Columns3 /> },
  { view: "list", label: "List view", icon: <List /> },
] as const;
type BoardViewName = (typeof VIEWS)[number]["view"];

export default function Board({ params }: { params: { boardId?: string } }) {
  const boards = useBoards();
  return (
    <QueryResult query={boards} loading={<Skeleton lines={4} block />}>
      {(known) => {
        const { boardId } = params;
        const board = known.find((item) => (boardId ? item.id === boardId : item.isDefault));
        if (!board)
          return (
            <Empty
              title="Board not found"
              actions={<ButtonLink href={routes.board}>Go to the main board</ButtonLink>}
            >
              It may have been deleted.
            </Empty>
          );
        return <BoardView key={board.id} boards={known} board={board} />;
      }}
    </QueryResult>
  );
}

function BoardView({ boards, board }: { boards: BoardRecord[]; board: BoardRecord }) {
  const narrow = useMedia("(max-width: 40rem)");
  const [chosen, setChosen] = usePref<BoardViewName | null>("boardAs", null);
  const as = chosen ?? (narrow ? "list" : "canvas");
  const [archived, setArchived] = usePref("boardShowsArchived", false);
  const [filter, setFilter] = useState(NO_FILTER);
  const [whole, setWhole] = useState<ReadonlySet<string>>(new Set());
  const [asked, setAsked] = useState<{ what: CardAct; card: Card } | null>(null);
  const query = useQuery({ ...cardsQuery(board.id, archived), placeholderData: keepPreviousData });
  const all = query.data;
  const cards = useMemo(() => filtered(all ?? [], filter), [all, filter]);
  const sessions = useMemo(() => (all ?? []).reduce((sum, card) => sum + card.sessionsTotal, 0), [all]);
  const acts = useMemo(
    () => ({
      act: (what: CardAct, card: Card) => setAsked({ what, card }),
      unfold: (card: Card) => setWhole((known) => new Set(known).add(cardId(card))),
      boards: boards.filter((entry) => entry.id !== board.id),
      moveTo: (to: BoardRecord, card: Card) => void moveToBoard(card, board.id, to),
    }),
    [boards, board.id],
  );
  useTitle(board.isDefault ? "Board" : `${board.name} · Board`);
  const next = VIEWS[(VIEWS.findIndex(({ view }) => view === as) + 1) % VIEWS.length]!.view;
  useActions([
    { keys: "v", label: `Show as ${next}`, group: "Board", run: () => setChosen(next) },
    { label: "Tidy board", group: "Board", run: () => void tidyBoard(all ?? [], board.id) },
    {
      label: archived ? "Hide archived sessions" : "Show archived sessions",
      group: "Board",
      run: () => setArchived(!archived),
    },
  ]);

  return (
    <CardContext value={acts}>
      <div className={css.view}>
        <header className={css.header}>
          <div className={css.names}>
            <h1 className={css.title}>{board.name}</h1>
            {all && (
              <p className={css.facts}>
                {plural(all.length, "card")} · {plural(sessions, "session")}
              </p>
            )}
          </div>
          <BoardMenu boards={boards} board={board} />
          <BoardFilters cards={all ?? []} filter={filter} onChange={setFilter} />
          <div className={css.actions}>
            <Switch label="Archived" checked={archived} onChange={setArchived} />
            {as === "canvas" && (
              <Button
                icon={<Sparkles />}
                onClick={() => void tidyBoard(all ?? [], board.id)}
                disabled={!all?.length}
              >
                Tidy
              </Button>
            )}
            {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
            <div role="group" aria-label="View" className={css.views}>
              {VIEWS.map(({ view, label, icon }) => (
                <IconButton
                  key={view}
                  label={label}
                  aria-pressed={as === view}
                  onClick={() => setChosen(view)}
                >
                  {icon}
                </IconButton>
              ))}
            </div>
          </div>
        </header>
        {query.error && !all && <Problem error={query.error} retry={() => void query.refetch()} />}
        {!all && !query.error && <Skeleton lines={4} block />}
        {all && all.length === 0 && <NoCards board={board} />}
        {all && all.length > 0 && cards.length === 0 && (
          <Empty
            title="No matching cards"
            actions={<Button onClick={() => setFilter(NO_FILTER)}>Clear filters</Button>}
          >
            No card on this board matches the filters.
          </Empty>
        )}
        {cards.length > 0 && (
          <div className={as === "canvas" ? css.canvas : css.list}>
            {as === "canvas" ? (
              <BoardCanvas
                boardId={board.id}
                cards={cards}
                whole={whole}
                onMove={(card, at) => moveCard(card, board.id, at)}
              />
            ) : as === "columns" ? (
              <BoardColumns cards={cards} whole={whole} />
            ) : (
              <BoardList cards={cards} whole={whole} />
            )}
          </div>
        )}
        {asked && <CardDialogs {...asked} onClose={() => setAsked(null)} />}
      </div>
    </CardContext>
  );
}

const NoCards = ({ board }: { board: BoardRecord }) =>
  board.isDefault ? (
    <Empty
      icon={<FolderPlus />}
      title="No repositories yet"
      actions={
        <ButtonLink href={routes.new} variant="primary">
          New session
        </ButtonLink>
      }
    >
      Start a session in one of your folders. The folder and its worktrees appear here as cards.
    </Empty>
  ) : (
    <Empty
      icon={<FolderPlus />}
      title="This board is empty"
      actions={<ButtonLink href={routes.board}>Go to the main board</ButtonLink>}
    >
      Worktrees and repositories are on the main board until you move them.
    </Empty>
  );
