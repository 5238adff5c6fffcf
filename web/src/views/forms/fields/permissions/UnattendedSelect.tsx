/** Chooses what happens to approvals that nobody answers. */
import { Field, Select } from "@/ui/controls/Field";
import type { UnattendedAnswer } from "@/views/forms/state/draft";

export function UnattendedSelect({
  value,
  onChange,
  inherited = "Server default",
}: {
  value: UnattendedAnswer;
  onChange: (value: UnattendedAnswer) => void;
  /** The name of the choice that sets nothing. */
  inherited?: string;
}) {
  return (
    <Field label="If nobody answers" hint="Applies to approvals that are not answered in time.">
      <Select
        value={value ?? ""}
        onChange={(event) => onChange((event.target.value || null) as UnattendedAnswer)}
      >
        <option value="">{inherited}</option>
        <option value="wait">Keep waiting</option>
        <option value="deny">Deny after a timeout</option>
        <option value="allow">Allow after a timeout</option>
      </Select>
    </Field>
  );
}
