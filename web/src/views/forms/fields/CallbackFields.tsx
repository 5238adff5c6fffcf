/** What a child reports to its parent at the end of each task. */
import { Field, Switch, TextArea } from "@/ui/controls/Field";
import type { CallbackChoice } from "@/views/forms/state/draft";

export function CallbackPart({
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
        hint={`When a task of it is over, ${parent} is told as a prompt.`}
        checked={value.enabled}
        onChange={(enabled) => onChange({ ...value, enabled })}
      />
      {value.enabled && (
        <>
          <Switch
            label="With its last message"
            checked={value.includeLastMessage}
            onChange={(includeLastMessage) => onChange({ ...value, includeLastMessage })}
          />
          <Switch
            label="With the prompt it was given"
            checked={value.includeOriginalPrompt}
            onChange={(includeOriginalPrompt) => onChange({ ...value, includeOriginalPrompt })}
          />
          <Field label="What to add to the report" hint="For instance: review it before you go on.">
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
