/** Edits the model or the effort: free text with suggestions from the agent. */
import { useId } from "react";
import type { Session } from "@/api/types";
import { Field, Input } from "@/ui/controls/Field";
import { agentOptions } from "./settingsDraft";

const LABELS = {
  model: { label: "Model", hint: "Model ID; blank uses the agent’s default." },
  effort: { label: "Effort", hint: "Reasoning effort; blank uses the agent’s default." },
};

export function AgentOptionField({
  session,
  option,
  value,
  onChange,
}: {
  session: Session;
  option: "model" | "effort";
  value: string;
  onChange: (value: string) => void;
}) {
  const listId = useId();
  const suggestions = agentOptions(session, option);
  return (
    <>
      <Field label={LABELS[option].label} hint={LABELS[option].hint}>
        <Input
          value={value}
          list={listId}
          placeholder="Default"
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      </Field>
      <datalist id={listId}>
        {suggestions.map(({ value: suggestion, name }) => (
          <option key={suggestion} value={suggestion}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  );
}
