/** Which cards and sessions of a board are shown: by repository, by how sessions stand, by words. */
import type { Card, CardSession } from "@/api/types";
import { type Look, look, nameOf } from "@/lib/words";

export type Wanted = "all" | "running" | "waiting" | "unread" | "failed" | "queued";
export interface Filter {
  repo: string;
  state: Wanted;
  words: string;
}
export const NO_FILTER: Filter = { repo: "", state: "all", words: "" };
export const WANTED: Record<Wanted, string> = {
  all: "Any state",
  running: "Working",
  waiting: "Waits for you",
  queued: "Queued",
  unread: "New since you looked",
  failed: "Failed",
};

export const isFiltered = ({ repo, state, words }: Filter) =>
  repo !== "" || state !== "all" || words.trim() !== "";

const LOOKS_OF: Partial<Record<Wanted, Look[]>> = {
  running: ["running"],
  waiting: ["waiting", "paused"],
  queued: ["queued"],
  failed: ["failed"],
};

const stands = (session: CardSession, state: Wanted): boolean =>
  state === "all" || (state === "unread" ? session.unread : (LOOKS_OF[state] ?? []).includes(look(session)));

/** Cards keep their identity while nothing is left out of them. */
export function filtered(cards: Card[], { repo, state, words }: Filter): Card[] {
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
    const placeFits = !text || place.some((one) => one?.toLowerCase().includes(text));
    const sessions = card.sessions.filter(
      (one) =>
        stands(one, state) && (placeFits || `${nameOf(one)} ${one.agent}`.toLowerCase().includes(text)),
    );
    if (!sessions.length && (state !== "all" || !placeFits)) return [];
    return [
      sessions.length === card.sessions.length ? card : { ...card, sessions, sessionsTotal: sessions.length },
    ];
  });
}
