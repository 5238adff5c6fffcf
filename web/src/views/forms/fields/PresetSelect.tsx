/** Chooses the preset that a new session starts from; shows nothing while there is none to choose. */
import { usePresets } from "@/api/queries";
import { Field, Select } from "@/ui/controls/Field";
import type { Draft } from "@/views/forms/state/draft";
import { additionsOf, draftFromPreset } from "@/views/forms/state/presets";

export function PresetSelect({
  draft,
  set,
  error,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  error: string | null;
}) {
  const presets = usePresets().data ?? [];
  const chosen = presets.find((preset) => preset.id === draft.preset);
  if (!presets.length && !draft.preset) return null;
  return (
    <Field label="Preset" hint={chosen && additionsOf(chosen)} error={error}>
      <Select
        value={draft.preset}
        onChange={(event) => {
          const preset = presets.find((other) => other.id === event.target.value);
          set(preset ? draftFromPreset(preset) : { preset: "" });
        }}
      >
        <option value="">None</option>
        {draft.preset && !chosen && <option value={draft.preset}>Removed</option>}
        {presets.map((preset) => (
          <option key={preset.id} value={preset.id}>
            {preset.name}
          </option>
        ))}
      </Select>
    </Field>
  );
}
