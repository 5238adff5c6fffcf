/** Chooses whether and what a child reports to its parent after each turn. */
import { Field, Switch, TextArea } from "@/ui/controls/Field";
import type { CallbackChoice } from "@/views/forms/state/draft";

export function CallbackFields({
  value,
  onChange,
  parent = "this session",
}: {
  value: CallbackChoice;
  parent?: string;
  onChange: (value: CallbackChoice) => void;
}) {
  return (
    <>
      <Switch
        label="Report back"
        hint={`When it finishes, its report is sent to ${parent} as a prompt.`}
        checked={value.enabled}
        onChange={(enabled) => onChange({ ...value, enabled })}
      />
      {value.enabled && (
        <>
          <Switch
            label="Include its last message"
            checked={value.includeLastMessage}
            onChange={(includeLastMessage) => onChange({ ...value, includeLastMessage })}
          />
          <Switch
            label="Include the prompt it was given"
            checked={value.includeOriginalPrompt}
            onChange={(includeOriginalPrompt) => onChange({ ...value, includeOriginalPrompt })}
          />
          <Field
            label="Form of its report"
            hint="Optional. The child gets it with each prompt. For example: include line numbers for all changes."
          >
            <TextArea
              rows={2}
              value={value.extraInstructions}
              onChange={(event) => onChange({ ...value, extraInstructions: event.target.value })}
            />
          </Field>
        </>
      )}
    </>
  );
}
