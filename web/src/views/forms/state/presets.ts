/** What a preset fills in on a form, and what it adds that the form does not show. */
import type { Preset } from "@/api/types";
import type { Draft } from "./draft";

/** Returns the values that choosing a preset puts into a form; the server adds variables and instructions. */
export const draftFromPreset = (preset: Preset): Partial<Draft> => ({
  preset: preset.id,
  agent: preset.agent,
  model: preset.model ?? "",
  effort: preset.effort ?? "",
  ...(preset.permissionMode && { mode: preset.permissionMode }),
  ...(preset.mcpServerIds.length && { mcpServerIds: preset.mcpServerIds }),
  ...(preset.sandbox && { sandbox: preset.sandbox }),
  ...(preset.sandboxProfile && { sandboxProfile: preset.sandboxProfile }),
});

type FilledIn = Pick<
  Draft,
  "agent" | "model" | "effort" | "mode" | "mcpServerIds" | "sandbox" | "sandboxProfile"
>;

/** Returns the values of a form that presets fill in, so that they can be put back. */
export const beforePreset = ({
  agent,
  model,
  effort,
  mode,
  mcpServerIds,
  sandbox,
  sandboxProfile,
}: Draft): FilledIn => ({
  agent,
  model,
  effort,
  mode,
  mcpServerIds,
  sandbox,
  sandboxProfile,
});

/** Returns the change that choosing another preset, or none, makes: nothing of an earlier preset stays. */
export const withPreset = (before: FilledIn, preset: Preset | undefined): Partial<Draft> => ({
  ...before,
  preset: "",
  ...(preset && draftFromPreset(preset)),
});

/** Describes what a preset adds to a session besides what the form shows. */
export function additionsOf(preset: Preset): string {
  const names = Object.keys(preset.env);
  const parts = [
    ...(preset.instructions ? ["its instructions"] : []),
    ...(names.length ? [`the variables ${names.join(", ")}`] : []),
  ];
  return parts.length ? `Adds ${parts.join(" and ")}.` : preset.description;
}
