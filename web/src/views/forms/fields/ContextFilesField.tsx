/** Paths of files to attach to the next prompt. */
import { Field, TextArea } from "@/ui/controls/Field";

export function ContextFilesField({
  value,
  onChange,
  error,
}: {
  value: string;
  onChange: (value: string) => void;
  error?: string | null;
}) {
  return (
    <Field label="Context files" hint="One path per line, attached to the next prompt only." error={error}>
      <TextArea
        rows={2}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        spellCheck={false}
      />
    </Field>
  );
}
