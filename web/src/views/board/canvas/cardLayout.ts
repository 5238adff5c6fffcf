/** Lays out cards: placed ones stay, the others fill columns by repository around them. */
import type { Card, CardSession } from "@/api/types";
import { visibleSessions } from "@/views/board/card/visibleSessions";
import type { Point } from "@/views/tree/canvas/layout";

export const GRID_SIZE = 20;
export const CARD_WIDTH = 340;
const GAP = 40;
/** The height of a column before the next one starts; doubled until the board is wider than high. */
const COLUMN = 640;
const BROAD = 1.6;

export const HEADER_HEIGHT = 72;
export const NOTES_HEIGHT = 40;
export const ROW_HEIGHT = 36;
const EMPTY = 44;
const REST = 12;

export const cardId = (card: Card): string => card.worktree?.id ?? `repo:${card.repo.id}`;

export const snapToGrid = (value: number): number => Math.round(value / GRID_SIZE) * GRID_SIZE;

/** Returns how many lines a card's sessions take, with the line that counts hidden ones. */
export function sessionLineCount(sessions: readonly CardSession[], total: number, whole: boolean): number {
  const visible = visibleSessions(sessions, whole).length;
  return visible + (total > visible ? 1 : 0);
}

export function cardHeight(card: Card, whole = false): number {
  const lines = sessionLineCount(card.sessions, card.sessionsTotal, whole);
  return (
    HEADER_HEIGHT + (card.worktree?.notes ? NOTES_HEIGHT : 0) + (lines ? lines * ROW_HEIGHT : EMPTY) + REST
  );
}

function columnFor(total: number): number {
  const item = Math.sqrt((total * (CARD_WIDTH + GAP)) / BROAD);
  let column = COLUMN;
  while (column < item) column *= 2;
  return column;
}

interface Box extends Point {
  height: number;
}
const meet = (a: Box, b: Box) =>
  a.x < b.x + CARD_WIDTH + GAP &&
  b.x < a.x + CARD_WIDTH + GAP &&
  a.y < b.y + b.height + GAP &&
  b.y < a.y + a.height + GAP;

/** Returns the position of every card by its id. */
export function layOutCards(
  cards: readonly Card[],
  whole: ReadonlySet<string> = new Set(),
): Map<string, Point> {
  const positions = new Map<string, Point>();
  const taken: Box[] = [];
  const height = (card: Card) => cardHeight(card, whole.has(cardId(card)));
  for (const card of cards)
    if (card.x !== null && card.y !== null) {
      positions.set(cardId(card), { x: card.x, y: card.y });
      taken.push({ x: card.x, y: card.y, height: height(card) });
    }
  const column = columnFor(cards.reduce((sum, card) => sum + height(card) + GAP, 0));
  const loose = new Map<string, Card[]>();
  for (const card of cards)
    if (card.x === null || card.y === null)
      loose.set(card.repo.id, [...(loose.get(card.repo.id) ?? []), card]);
  let [x, y] = [0, 0];
  for (const group of loose.values()) {
    const needed = group.reduce((sum, card) => sum + height(card) + GAP, 0);
    if (y > 0 && y + needed > column) [x, y] = [x + CARD_WIDTH + GAP, 0];
    for (const card of group) {
      const box = { x, y, height: height(card) };
      if (box.y > 0 && box.y + box.height > column) [box.x, box.y] = [box.x + CARD_WIDTH + GAP, 0];
      for (
        let other = taken.find((item) => meet(box, item));
        other;
        other = taken.find((item) => meet(box, item))
      ) {
        box.y = snapToGrid(other.y + other.height + GAP + GRID_SIZE / 2);
        if (box.y > 0 && box.y + box.height > column) [box.x, box.y] = [box.x + CARD_WIDTH + GAP, 0];
      }
      taken.push(box);
      positions.set(cardId(card), { x: box.x, y: box.y });
      [x, y] = [box.x, snapToGrid(box.y + box.height + GAP)];
    }
  }
  return positions;
}
