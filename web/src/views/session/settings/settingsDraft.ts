/** Converts a session's settings to a form's draft, and the draft to a patch with only the changes. */
import type { Mode, Session, SessionPatch } from "@/api/types";
import {
  type EnvLine,
  minutesOf,
  nonEmptyLines,
  type SandboxChoice,
  type SandboxProfile,
} from "@/views/forms/state/draft";

export interface SettingsDraft {
  title: string;
  description: string;
  model: string;
  effort: string;
  permissionMode: Mode;
  mcpServerIds: string[];
  env: EnvLine[];
  contextFiles: string;
  callback: {
    enabled: boolean;
    includeLastMessage: boolean;
    includeOriginalPrompt: boolean;
    extraInstructions: string;
  };
  headless: "" | "wait" | "deny" | "allow";
  /** Minutes as typed; empty for the server's default. */
  approvalTimeout: string;
  /** Null for the server's default. */
  resumeAfterLimit: boolean | null;
  sandbox: SandboxChoice;
  sandboxProfile: SandboxProfile;
}

export const draftOf = (session: Session): SettingsDraft => ({
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
  approvalTimeout: session.approvalTimeout?.toString() ?? "",
  resumeAfterLimit: session.resumeAfterLimit ?? null,
  sandbox: session.sandbox ?? null,
  sandboxProfile: session.sandboxProfile ?? null,
});

const values = (draft: SettingsDraft): Required<Omit<SessionPatch, "queuePaused">> => ({
  title: draft.title.trim(),
  description: draft.description.trim(),
  model: draft.model.trim() || null,
  effort: draft.effort.trim() || null,
  permissionMode: draft.permissionMode,
  mcpServerIds: [...draft.mcpServerIds].sort(),
  env: Object.fromEntries(
    draft.env.filter(({ name }) => name.trim()).map(({ name, value }) => [name.trim(), value]),
  ),
  contextFiles: nonEmptyLines(draft.contextFiles),
  callback: { ...draft.callback, extraInstructions: draft.callback.extraInstructions.trim() || null },
  headless: draft.headless || null,
  approvalTimeout: minutesOf(draft.approvalTimeout),
  resumeAfterLimit: draft.resumeAfterLimit,
  sandbox: draft.sandbox,
  sandboxProfile: draft.sandboxProfile,
});

/** Returns the fields in which the draft differs from the session; an empty object if there is nothing to save. */
export function patchOf(session: Session, draft: SettingsDraft): SessionPatch {
  const before = values(draftOf(session));
  const after = values(draft);
  const changed = (Object.keys(after) as (keyof typeof after)[]).filter(
    (name) => JSON.stringify(sortKeys(before[name])) !== JSON.stringify(sortKeys(after[name])),
  );
  return Object.fromEntries(changed.map((name) => [name, after[name]]));
}

/** Sorts an object's keys for comparison; arrays keep their order, because it can matter. */
function sortKeys(value: unknown): unknown {
  if (!value || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => a.localeCompare(b)));
}
