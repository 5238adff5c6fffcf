/** A select for what becomes of a turn that a usage or rate limit of the agent's account ended. */
import { Field, Select } from "@/ui/controls/Field";

export function AfterLimitSelect({
  value,
  onChange,
}: {
  value: boolean | null;
  onChange: (value: boolean | null) => void;
}) {
  return (
    <Field label="At a usage limit" hint="Applies to turns that a limit of the agent’s account ends.">
      <Select
        value={value === null ? "" : String(value)}
        onChange={(event) => onChange(event.target.value ? event.target.value === "true" : null)}
      >
        <option value="">Server default</option>
        <option value="true">Continue when it ends</option>
        <option value="false">Fail the turn</option>
      </Select>
    </Field>
  );
}
