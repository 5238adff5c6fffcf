import { describe, expect, it } from "vitest";
import type { Card, CardSession } from "@/api/types";
import {
  CARD_WIDTH,
  cardHeight,
  cardId,
  layOutCards,
  sessionLineCount,
  snapToGrid,
} from "./canvas/cardLayout";
import { MAX_VISIBLE_SESSIONS, visibleSessions } from "./card/visibleSessions";
import { filtered, NO_FILTER } from "./filterCards";

const session = (id: string, more: Partial<CardSession> = {}): CardSession =>
  ({
    id,
    title: id,
    agent: "demo",
    status: "active",
    activity: "idle",
    unread: false,
    ...more,
  }) as CardSession;

const card = (id: string, repo: string, sessions: CardSession[], more: Partial<Card> = {}): Card =>
  ({
    worktree: { id, branch: `branch-${id}`, path: `/w/${id}`, notes: "" },
    repo: { id: repo, name: `repo-${repo}`, path: `/r/${repo}`, kind: "git", defaultBranch: "main" },
    x: null,
    y: null,
    sessions,
    sessionsTotal: sessions.length,
    ...more,
  }) as Card;

const overlaps = (cards: Card[], places = layOutCards(cards)) => {
  const boxes = cards.map((entry) => ({ ...places.get(cardId(entry))!, height: cardHeight(entry) }));
  return boxes.some((a, at) =>
    boxes
      .slice(at + 1)
      .some(
        (b) =>
          a.x < b.x + CARD_WIDTH && b.x < a.x + CARD_WIDTH && a.y < b.y + b.height && b.y < a.y + a.height,
      ),
  );
};

const MANY = Array.from({ length: 300 }, (_, at) =>
  card(
    `c${at}`,
    `r${at % 12}`,
    Array.from({ length: at % 7 }, (_, n) => session(`s${at}-${n}`)),
  ),
);

describe("layout", () => {
  it("lays out hundreds of cards by repository, without overlaps", () => {
    const places = layOutCards(MANY);
    expect(places.size).toBe(300);
    expect(overlaps(MANY, places)).toBe(false);
    const first = MANY.filter((item) => item.repo.id === "r0").map((item) => places.get(cardId(item))!.x);
    expect(Math.max(...first)).toBeLessThan(8 * CARD_WIDTH);
  });

  it("keeps cards that were placed by hand and lays the others out around them", () => {
    const placed = [card("p", "r0", [session("a")], { x: 20, y: 60 }), card("q", "r0", [], { x: 400, y: 0 })];
    const cards = [...placed, ...MANY.slice(0, 40)];
    const places = layOutCards(cards);
    expect(places.get("p")).toEqual({ x: 20, y: 60 });
    expect(places.get("q")).toEqual({ x: 400, y: 0 });
    expect(overlaps(cards, places)).toBe(false);
  });

  it("never folds a session that works or waits, nor its origins", () => {
    const line = (id: string, parent: string | null, activity = "idle") =>
      ({
        id,
        kind: parent ? "subsession" : "root",
        parentSessionId: parent,
        forkedFromSessionId: null,
        archived: false,
        status: "active",
        activity,
        queued: 0,
      }) as unknown as CardSession;
    const busy = Array.from({ length: 10 }, (_, at) => line(`b${at}`, "other", "running"));
    const idle = Array.from({ length: 10 }, (_, at) => line(`i${at}`, "first"));
    const sessions = [line("first", null, "waiting_permission"), ...idle, line("other", null), ...busy];
    expect(visibleSessions(sessions, false).map(([session]) => session.id)).toEqual([
      "first",
      "other",
      ...busy.map((session) => session.id),
    ]);
    expect(visibleSessions([line("root", null), ...idle], false)).toHaveLength(MAX_VISIBLE_SESSIONS);
    expect(visibleSessions(sessions, true)).toHaveLength(sessions.length);
  });

  it("folds long cards and counts the hidden sessions", () => {
    const many = Array.from({ length: 12 }, (_, at) => session(`${at}`));
    expect(sessionLineCount(many, 12, false)).toBe(MAX_VISIBLE_SESSIONS + 1);
    expect(sessionLineCount(many, 12, true)).toBe(12);
    expect(sessionLineCount(many, 50, true)).toBe(13);
    expect(sessionLineCount(many.slice(0, 3), 3, false)).toBe(3);
    expect(cardHeight(card("x", "r", many), true)).toBeGreaterThan(cardHeight(card("x", "r", many)));
  });

  it("names the card of a repository's own folder, and snaps", () => {
    expect(cardId(card("x", "r", [], { worktree: null }))).toBe("repo:r");
    expect([snapToGrid(29), snapToGrid(31), snapToGrid(-9)]).toEqual([20, 40, -0]);
  });
});

describe("filter", () => {
  const cards = [
    card("a", "1", [session("login", { activity: "running" }), session("docs", { unread: true })]),
    card("b", "2", [session("tests", { status: "error" })]),
    card("c", "2", []),
  ];
  const ids = (array: Card[]) =>
    array.map((item) => `${cardId(item)}:${item.sessions.map((each) => each.id)}`);

  it("returns the same cards without a filter", () => {
    expect(filtered(cards, NO_FILTER)).toBe(cards);
    expect(filtered(cards, { ...NO_FILTER, repo: "1" })[0]).toBe(cards[0]);
  });

  it("filters by repository, state and words", () => {
    expect(ids(filtered(cards, { ...NO_FILTER, repo: "2" }))).toEqual(["b:tests", "c:"]);
    expect(ids(filtered(cards, { ...NO_FILTER, state: "running" }))).toEqual(["a:login"]);
    expect(ids(filtered(cards, { ...NO_FILTER, state: "unread" }))).toEqual(["a:docs"]);
    expect(ids(filtered(cards, { ...NO_FILTER, state: "failed" }))).toEqual(["b:tests"]);
    expect(ids(filtered(cards, { ...NO_FILTER, words: "DOCS" }))).toEqual(["a:docs"]);
    expect(ids(filtered(cards, { ...NO_FILTER, words: "branch-c" }))).toEqual(["c:"]);
  });
});
