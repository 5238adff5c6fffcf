/** Filters the cards and sessions of a board by repository, session state and words. */
import type { Card, CardSession } from "@/api/types";
import { type DisplayState, displayState, sessionName } from "@/lib/words";

export type StateFilter = "all" | "running" | "waiting" | "unread" | "failed" | "queued";
export interface BoardFilter {
  repo: string;
  state: StateFilter;
  words: string;
}
export const NO_FILTER: BoardFilter = { repo: "", state: "all", words: "" };
export const STATE_FILTER_NAMES: Record<StateFilter, string> = {
  all: "Any state",
  running: "Working",
  waiting: "Needs your approval",
  queued: "Queued",
  unread: "Unread",
  failed: "Failed",
};

export const isFiltered = ({ repo, state, words }: BoardFilter) =>
  repo !== "" || state !== "all" || words.trim() !== "";

const LOOKS_OF: Partial<Record<StateFilter, DisplayState[]>> = {
  running: ["running", "stalled", "looping"],
  waiting: ["waiting", "paused"],
  queued: ["queued"],
  failed: ["failed"],
};

const matchesState = (session: CardSession, state: StateFilter): boolean =>
  state === "all" ||
  (state === "unread" ? session.unread : (LOOKS_OF[state] ?? []).includes(displayState(session)));

/** Returns the matching cards; a card whose sessions all match is returned unchanged. */
export function filtered(cards: Card[], { repo, state, words }: BoardFilter): Card[] {
  const text = words.trim().toLowerCase();
  if (!repo && state === "all" && !text) return cards;
  return cards.flatMap((card) => {
    if (repo && card.repo.id !== repo) return [];
    const place = [
      card.repo.name,
      card.worktree?.branch,
      card.worktree?.path ?? card.repo.path,
      card.worktree?.notes,
    ];
    const placeFits = !text || place.some((item) => item?.toLowerCase().includes(text));
    const sessions = card.sessions.filter(
      (session) =>
        matchesState(session, state) &&
        (placeFits || `${sessionName(session)} ${session.agent}`.toLowerCase().includes(text)),
    );
    if (!sessions.length && (state !== "all" || !placeFits)) return [];
    return [
      sessions.length === card.sessions.length ? card : { ...card, sessions, sessionsTotal: sessions.length },
    ];
  });
}
