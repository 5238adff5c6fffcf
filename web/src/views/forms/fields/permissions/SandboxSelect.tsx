/** Chooses whether a session's agent runs in the sandbox. */
import { Field, Select } from "@/ui/controls/Field";
import type { SandboxChoice } from "@/views/forms/state/draft";

export function SandboxSelect({
  value,
  onChange,
}: {
  value: SandboxChoice;
  onChange: (value: SandboxChoice) => void;
}) {
  return (
    <Field label="Sandbox" hint="Confines the agent to its folder, and hides your keys from it.">
      <Select
        value={value ?? ""}
        onChange={(event) => onChange((event.target.value || null) as SandboxChoice)}
      >
        <option value="">Default</option>
        <option value="auto">If available</option>
        <option value="required">Required</option>
        <option value="off">Off</option>
      </Select>
    </Field>
  );
}
