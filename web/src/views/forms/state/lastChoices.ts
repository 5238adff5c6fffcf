/** Remembers the last choices per repository, with which the next form opens. */

import type { Mode } from "@/api/types";
import { getPref, setPref } from "@/lib/prefs";
import { neverAsks } from "@/lib/words";
import type { Draft, WorkingDirectory } from "./draft";

interface Last {
  agent: string | null;
  mode: Mode | null;
  place: "own" | "new";
}

const MOST_MODELS = 8;

export const lastRepo = () => getPref<string | null>("forms.repo", null);

export function rememberedChoices(repoId: string | null): Partial<Draft> {
  const last = repoId ? getPref<Last | null>(`forms.last.${repoId}`, null) : null;
  if (!last) return {};
  const directory: WorkingDirectory =
    last.place === "new" ? { kind: "new", branch: "", path: "", base: "", ignored: false } : { kind: "own" };
  // A mode that never asks is chosen again each time.
  return { agent: last.agent, mode: last.mode && neverAsks(last.mode) ? null : last.mode, directory };
}

export function rememberChoices(repoId: string, draft: Draft): void {
  setPref<string>("forms.repo", repoId);
  const place = draft.directory.kind === "new" ? "new" : "own";
  setPref<Last>(`forms.last.${repoId}`, { agent: draft.agent, mode: draft.mode, place });
  rememberModel(draft.agent, draft.model);
}

export const recentModels = (agent: string | null): string[] =>
  getPref<string[]>(`forms.models.${agent}`, []);

export function rememberModel(agent: string | null, model: string): void {
  const name = model.trim();
  if (!agent || !name) return;
  const known = recentModels(agent).filter((item) => item !== name);
  setPref(`forms.models.${agent}`, [name, ...known].slice(0, MOST_MODELS));
}
