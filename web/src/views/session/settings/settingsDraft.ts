/** The settings of a session as a form holds them, and what of them is new: only that is sent. */
import type { Mode, Session, SessionPatch } from "@/api/types";

export interface Variable {
  id: string;
  name: string;
  /** `***` is the value that the server keeps and does not show. */
  value: string;
}

export interface Draft {
  title: string;
  description: string;
  model: string;
  effort: string;
  permissionMode: Mode;
  mcpServerIds: string[];
  env: Variable[];
  contextFiles: string;
  callback: {
    enabled: boolean;
    includeLastMessage: boolean;
    includeOriginalPrompt: boolean;
    extraInstructions: string;
  };
  headless: "" | "wait" | "deny" | "allow";
}

export const MASK = "***";

export const draftOf = (session: Session): Draft => ({
  title: session.title,
  description: session.description,
  model: session.model ?? "",
  effort: session.effort ?? "",
  permissionMode: session.permissionMode,
  mcpServerIds: session.mcpServerIds,
  env: Object.entries(session.env).map(([name, value]) => ({ id: name, name, value })),
  contextFiles: session.contextFiles.join("\n"),
  callback: {
    enabled: session.callback.enabled ?? true,
    includeLastMessage: session.callback.includeLastMessage ?? true,
    includeOriginalPrompt: session.callback.includeOriginalPrompt ?? false,
    extraInstructions: session.callback.extraInstructions ?? "",
  },
  headless: session.headless ?? "",
});

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

const values = (draft: Draft): Required<Omit<SessionPatch, "queuePaused">> => ({
  title: draft.title.trim(),
  description: draft.description.trim(),
  model: draft.model.trim() || null,
  effort: draft.effort.trim() || null,
  permissionMode: draft.permissionMode,
  mcpServerIds: [...draft.mcpServerIds].sort(),
  env: Object.fromEntries(
    draft.env.filter((one) => one.name.trim()).map((one) => [one.name.trim(), one.value]),
  ),
  contextFiles: lines(draft.contextFiles),
  callback: { ...draft.callback, extraInstructions: draft.callback.extraInstructions.trim() || null },
  headless: draft.headless || null,
});

/** What the form says otherwise than the session; an empty object when nothing is to be saved. */
export function changes(session: Session, draft: Draft): SessionPatch {
  const before = values(draftOf(session));
  const after = values(draft);
  const changed = (Object.keys(after) as (keyof typeof after)[]).filter(
    (name) => JSON.stringify(sorted(before[name])) !== JSON.stringify(sorted(after[name])),
  );
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

/** Names of objects in one order; lists keep theirs, for it can matter. */
function sorted(value: unknown): unknown {
  if (!value || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a.localeCompare(b)));
}

export interface Offer {
  value: string;
  name: string;
  description?: string;
}

/** What the agent offers for an option, by its category or its id. */
export function offers(session: Pick<Session, "metadata">, which: "model" | "effort"): Offer[] {
  const options = session.metadata.configOptions;
  if (!Array.isArray(options)) return [];
  const category = which === "model" ? "model" : "thought_level";
  const found = options.find((one) => one?.category === category) ?? options.find((one) => one?.id === which);
  const listed: unknown[] = Array.isArray(found?.options) ? found.options : [];
  // Options may stand in groups.
  return listed
    .flatMap((one) => {
      const group = (one as { options?: unknown }).options;
      return Array.isArray(group) ? group : [one];
    })
    .filter((one): one is Offer => typeof (one as Offer)?.value === "string");
}
