/** Chooses the profile of the sandbox of a session or repository. */
import { Field, Select } from "@/ui/controls/Field";
import type { SandboxProfile } from "@/views/forms/state/draft";

export function SandboxProfileSelect({
  value,
  onChange,
}: {
  value: SandboxProfile;
  onChange: (value: SandboxProfile) => void;
}) {
  return (
    <Field label="Sandbox profile" hint="Strict also limits the network, and asks about other hosts.">
      <Select
        value={value ?? ""}
        onChange={(event) => onChange((event.target.value || null) as SandboxProfile)}
      >
        <option value="">Default</option>
        <option value="workspace">Workspace</option>
        <option value="strict">Strict</option>
      </Select>
    </Field>
  );
}
