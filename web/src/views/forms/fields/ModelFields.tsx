/** Model and effort: free text, with the values that the agent offers as suggestions. */
import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { sessionsQuery } from "@/api/queries";
import type { Session } from "@/api/types";
import { Field, Input } from "@/ui/controls/Field";
import css from "@/views/forms/layout/form.module.css";
import { optionsOfAgent } from "@/views/forms/state/agentOptions";
import { recentModels } from "@/views/forms/state/lastChoices";

const EFFORTS = ["low", "medium", "high"];

export function ModelFields({
  agent,
  model,
  effort,
  onChange,
  from,
  errors,
}: {
  agent: string | null;
  model: string;
  effort: string;
  onChange: (change: { model?: string; effort?: string }) => void;
  /** The session whose values apply to empty fields, if it has the same agent. */
  from?: Session;
  errors?: { model: string | null; effort: string | null };
}) {
  const id = useId();
  const offered = useModelOptions(agent, from);
  const inherits = from !== undefined && from.agent === agent;
  return (
    <div className={css.pair}>
      <Field
        label="Model"
        hint={inherits ? "Model ID; blank uses this session's." : "Model ID; blank uses the agent's default."}
        error={errors?.model}
      >
        <Input
          value={model}
          onChange={(event) => onChange({ model: event.target.value })}
          list={`${id}-models`}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <Field label="Effort" hint="If the agent supports it." error={errors?.effort}>
        <Input
          value={effort}
          onChange={(event) => onChange({ effort: event.target.value })}
          list={`${id}-efforts`}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <Suggestions id={`${id}-models`} values={offered.models} />
      <Suggestions id={`${id}-efforts`} values={offered.efforts.length ? offered.efforts : EFFORTS} />
    </div>
  );
}

/** Returns the models and efforts that an agent's sessions reported, and the models used last. */
export function useModelOptions(agent: string | null, from?: Session) {
  const newest = useQuery(sessionsQuery).data ?? [];
  const { models, efforts } = optionsOfAgent(agent, from ? [from, ...newest] : newest);
  return { models: [...new Set([...models, ...recentModels(agent)])], efforts };
}

export const Suggestions = ({ id, values }: { id: string; values: string[] }) => (
  <datalist id={id}>
    {values.map((value) => (
      <option key={value} value={value} />
    ))}
  </datalist>
);
