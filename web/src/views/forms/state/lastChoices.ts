/** What was chosen last, for each repository, so that the next form begins with it. */

import type { Mode } from "@/api/types";
import { getPref, setPref } from "@/lib/prefs";
import { isUnasked } from "@/lib/words";
import type { Draft, Place } from "./draft";

interface Last {
  agent: string | null;
  mode: Mode | null;
  place: "own" | "new";
}

const MOST_MODELS = 8;

export const lastRepo = () => getPref<string | null>("forms.repo", null);

export function remembered(repoId: string | null): Partial<Draft> {
  const last = repoId ? getPref<Last | null>(`forms.last.${repoId}`, null) : null;
  if (!last) return {};
  const place: Place =
    last.place === "new" ? { kind: "new", branch: "", path: "", base: "", ignored: false } : { kind: "own" };
  // Asking nothing is said each time anew, never by habit.
  return { agent: last.agent, mode: last.mode && isUnasked(last.mode) ? null : last.mode, place };
}

export function remember(repoId: string, draft: Draft): void {
  setPref<string>("forms.repo", repoId);
  const place = draft.place.kind === "new" ? "new" : "own";
  setPref<Last>(`forms.last.${repoId}`, { agent: draft.agent, mode: draft.mode, place });
  rememberModel(draft.agent, draft.model);
}

export const modelsOf = (agent: string | null): string[] => getPref<string[]>(`forms.models.${agent}`, []);

export function rememberModel(agent: string | null, model: string): void {
  const name = model.trim();
  if (!agent || !name) return;
  const known = modelsOf(agent).filter((one) => one !== name);
  setPref(`forms.models.${agent}`, [name, ...known].slice(0, MOST_MODELS));
}
