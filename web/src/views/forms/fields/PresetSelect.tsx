/** Chooses the preset that a new session starts from; shows nothing while there is none to choose. */
import { useState } from "react";
import { usePresets } from "@/api/queries";
import { Field, Select } from "@/ui/controls/Field";
import type { Draft } from "@/views/forms/state/draft";
import { additionsOf, beforePreset, withPreset } from "@/views/forms/state/presets";

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
  // The form's own values, while a preset has replaced them.
  const [own, setOwn] = useState(() => beforePreset(draft));
  const chosen = presets.find((preset) => preset.id === draft.preset);
  if (!presets.length && !draft.preset) return null;
  return (
    <Field label="Preset" hint={chosen && additionsOf(chosen)} error={error}>
      <Select
        value={draft.preset}
        onChange={(event) => {
          const preset = presets.find((other) => other.id === event.target.value);
          const before = draft.preset ? own : beforePreset(draft);
          setOwn(before);
          set(withPreset(before, preset));
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
