/** Moves cards: shows the new position at once, and undoes it if the server refuses. */
import { patchRepo, patchWorktree, runRequest } from "@/api/actions";
import { cardsQuery, client } from "@/api/queries";
import type { Board, Card } from "@/api/types";
import { toast } from "@/ui/feedback/toast";
import { cardId } from "./canvas/cardLayout";

interface Position {
  x: number | null;
  y: number | null;
}
/** How many requests run at a time when many cards move. */
const TOGETHER = 6;

const NOWHERE: Position = { x: null, y: null };

const save = (card: Card, boardId: string | null, at: Position) =>
  card.worktree
    ? patchWorktree(card.worktree.id, { boardId, ...at })
    : patchRepo(card.repo.id, { boardId, ...at });

function show(boardId: string, moved: Map<string, Position>): void {
  for (const archived of [true, false])
    client.setQueryData(cardsQuery(boardId, archived).queryKey, (known) =>
      known?.map((card) => {
        const at = moved.get(cardId(card));
        return at ? { ...card, ...at } : card;
      }),
    );
}

export async function moveCard(card: Card, boardId: string, at: Position): Promise<boolean> {
  if (card.x === at.x && card.y === at.y) return true;
  show(boardId, new Map([[cardId(card), at]]));
  const done = await runRequest(() => save(card, boardId, at));
  if (!done) show(boardId, new Map([[cardId(card), card]]));
  return done;
}

function saveAll(cards: Card[], boardId: string | null, where: (card: Card) => Position): Promise<unknown> {
  const waiting = [...cards];
  const work = async () => {
    for (let card = waiting.shift(); card; card = waiting.shift()) await save(card, boardId, where(card));
  };
  return Promise.all(Array.from({ length: TOGETHER }, work));
}

async function moveAll(cards: Card[], boardId: string, where: (card: Card) => Position): Promise<boolean> {
  show(boardId, new Map(cards.map((card) => [cardId(card), where(card)])));
  const done = await runRequest(() => saveAll(cards, boardId, where));
  if (!done) void client.invalidateQueries({ queryKey: ["cards"] });
  return done;
}

/** Clears the positions of cards, so that they are laid out automatically; can be undone. */
export async function tidyBoard(cards: Card[], boardId: string): Promise<void> {
  const placed = cards.filter((card) => card.x !== null);
  if (!placed.length) return toast("Nothing to tidy: no cards were moved.");
  if (await moveAll(placed, boardId, () => NOWHERE))
    toast("Board tidied.", {
      action: {
        label: "Undo",
        run: () => void moveAll(placed, boardId, ({ x, y }) => ({ x, y })),
      },
    });
}

/** Moves a card to another board, where it is laid out automatically. */
export async function moveToBoard(card: Card, from: string, to: Board): Promise<void> {
  const back = () => void runRequest(() => save(card, from, card));
  if (await runRequest(() => save(card, to.id, NOWHERE)))
    toast(`Moved to ${to.name}.`, { action: { label: "Undo", run: back } });
}

/** Moves all cards of a board to the main board, because the server deletes only empty boards. */
export async function emptyBoard(boardId: string): Promise<void> {
  const cards = await client.fetchQuery({ ...cardsQuery(boardId, false), staleTime: 0 });
  await saveAll(cards, null, () => NOWHERE);
}
