/** Whether and how a child reports to its parent when a turn is over. */
import { Field, Switch, TextArea } from "@/ui/controls/Field";
import css from "./Settings.module.css";
import type { Draft } from "./settingsDraft";

export function CallbackFields({
  callback,
  onChange,
}: {
  callback: Draft["callback"];
  onChange: (callback: Draft["callback"]) => void;
}) {
  return (
    <section className={css.part}>
      <h2 className={css.head}>Callback</h2>
      <Switch
        label="Report to the parent"
        hint="After each turn, the parent is told how it went."
        checked={callback.enabled}
        onChange={(enabled) => onChange({ ...callback, enabled })}
      />
      {callback.enabled && (
        <>
          <Switch
            label="With its last message"
            checked={callback.includeLastMessage}
            onChange={(includeLastMessage) => onChange({ ...callback, includeLastMessage })}
          />
          <Switch
            label="With the prompt it was given"
            checked={callback.includeOriginalPrompt}
            onChange={(includeOriginalPrompt) => onChange({ ...callback, includeOriginalPrompt })}
          />
          <Field label="Extra instructions" hint="Said to the parent at the end of each report.">
            <TextArea
              rows={2}
              value={callback.extraInstructions}
              onChange={(event) => onChange({ ...callback, extraInstructions: event.target.value })}
            />
          </Field>
        </>
      )}
    </section>
  );
}
