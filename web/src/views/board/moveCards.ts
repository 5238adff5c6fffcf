/** Where cards were put, told to the server: shown at once, taken back if it refuses. */
import { act, patchRepo, patchWorktree } from "@/api/actions";
import { cardsQuery, client } from "@/api/queries";
import type { Board, Card } from "@/api/types";
import { toast } from "@/ui/feedback/toast";
import { cardId } from "./canvas/cardLayout";

interface Place {
  x: number | null;
  y: number | null;
}
/** Requests under way at a time when many cards move. */
const TOGETHER = 6;

const NOWHERE: Place = { x: null, y: null };

const save = (card: Card, boardId: string | null, at: Place) =>
  card.worktree
    ? patchWorktree(card.worktree.id, { boardId, ...at })
    : patchRepo(card.repo.id, { boardId, ...at });

function show(boardId: string, moved: Map<string, Place>): void {
  for (const archived of [true, false])
    client.setQueryData(cardsQuery(boardId, archived).queryKey, (known) =>
      known?.map((card) => {
        const at = moved.get(cardId(card));
        return at ? { ...card, ...at } : card;
      }),
    );
}

export async function moveCard(card: Card, boardId: string, at: Place): Promise<boolean> {
  if (card.x === at.x && card.y === at.y) return true;
  show(boardId, new Map([[cardId(card), at]]));
  const done = await act(() => save(card, boardId, at));
  if (!done) show(boardId, new Map([[cardId(card), card]]));
  return done;
}

function saveAll(cards: Card[], boardId: string | null, where: (card: Card) => Place): Promise<unknown> {
  const waiting = [...cards];
  const work = async () => {
    for (let card = waiting.shift(); card; card = waiting.shift()) await save(card, boardId, where(card));
  };
  return Promise.all(Array.from({ length: TOGETHER }, work));
}

async function moveAll(cards: Card[], boardId: string, where: (card: Card) => Place): Promise<boolean> {
  show(boardId, new Map(cards.map((card) => [cardId(card), where(card)])));
  const done = await act(() => saveAll(cards, boardId, where));
  if (!done) void client.invalidateQueries({ queryKey: ["cards"] });
  return done;
}

/** Forgets where cards were put, so that they are laid out by themselves again; can be undone. */
export async function tidy(cards: Card[], boardId: string): Promise<void> {
  const placed = cards.filter((card) => card.x !== null);
  if (!placed.length) return toast("Nothing to tidy: no card was moved by hand.");
  if (await moveAll(placed, boardId, () => NOWHERE))
    toast("The board was tidied.", {
      action: {
        label: "Undo",
        run: () => void moveAll(placed, boardId, ({ x, y }) => ({ x, y })),
      },
    });
}

/** Puts a card on another board, where it finds a place by itself. */
export async function putOn(card: Card, from: string, to: Board): Promise<void> {
  const back = () => void act(() => save(card, from, card));
  if (await act(() => save(card, to.id, NOWHERE)))
    toast(`It lies on ${to.name} now.`, { action: { label: "Undo", run: back } });
}

/** Puts everything that lies on a board back on the first one: the server removes only boards that are empty. */
export async function clear(boardId: string): Promise<void> {
  const cards = await client.fetchQuery({ ...cardsQuery(boardId, false), staleTime: 0 });
  await saveAll(cards, null, () => NOWHERE);
}
