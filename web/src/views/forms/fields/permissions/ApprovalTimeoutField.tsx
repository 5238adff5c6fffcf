/** Chooses how many minutes approvals wait for a person, in sessions that then deny or allow them. */
import { Field, Input } from "@/ui/controls/Field";

export function ApprovalTimeoutField({
  value,
  onChange,
  inherited = "Server default",
}: {
  value: string;
  onChange: (value: string) => void;
  /** The name of the choice that sets nothing. */
  inherited?: string;
}) {
  return (
    <Field
      label="Timeout for answers (minutes)"
      hint="Then approvals are denied or allowed, if chosen above."
    >
      <Input
        type="number"
        min="0"
        max="525600"
        step="any"
        inputMode="decimal"
        placeholder={inherited}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}
