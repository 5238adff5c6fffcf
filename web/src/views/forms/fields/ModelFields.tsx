/** Model and effort: free text, with the values that the agent offers as suggestions. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { askAgentAgain, sessionsQuery, useAgentOffer, useMay } from "@/api/queries";
import type { AgentOffer, Session } from "@/api/types";
import { Button } from "@/ui/controls/Button";
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
  const offered = useModelOptions(agent, { from, ask: true });
  const inherits = from !== undefined && from.agent === agent;
  return (
    <div className={css.pair}>
      <Field
        label="Model"
        hint={
          inherits
            ? "Model ID; blank uses this session's."
            : defaultHint("Model ID", offered.offer?.defaultModel)
        }
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
      {offered.offer && <OfferState offer={offered.offer} />}
      <Suggestions id={`${id}-models`} values={offered.models} />
      <Suggestions id={`${id}-efforts`} values={offered.efforts.length ? offered.efforts : EFFORTS} />
    </div>
  );
}

const defaultHint = (what: string, value: string | null | undefined) =>
  value ? `${what}; blank uses the agent's default, ${value}.` : `${what}; blank uses the agent's default.`;

/** Returns the models and efforts that an agent or its sessions reported, and the models used last. With `ask`, the
 * server asks the agent if it has not said yet what it offers. */
export function useModelOptions(
  agent: string | null,
  { from, ask = false }: { from?: Session; ask?: boolean } = {},
) {
  const newest = useQuery(sessionsQuery).data ?? [];
  const offer = useAgentOffer(agent, ask).data;
  const reported = optionsOfAgent(agent, from ? [from, ...newest] : newest);
  const models = reported.models.length ? reported.models : (offer?.models.map(({ value }) => value) ?? []);
  const efforts = reported.efforts.length
    ? reported.efforts
    : (offer?.efforts.map(({ value }) => value) ?? []);
  return { models: [...new Set([...models, ...recentModels(agent)])], efforts, offer };
}

/** Says whether the agent is being asked what it offers, or why that is unknown. */
function OfferState({ offer }: { offer: AgentOffer }) {
  const client = useQueryClient();
  const may = useMay("operator");
  if (offer.checking)
    return (
      <p className={css.hint} role="status">
        Asking the agent for its models…
      </p>
    );
  const known = offer.models.length + offer.efforts.length;
  if (!offer.error && (known || offer.source)) return null;
  const again = async () => {
    await askAgentAgain(offer.agent);
    await client.invalidateQueries({ queryKey: ["agentOffer", offer.agent] });
  };
  return (
    <div className={css.row}>
      <span className={css.hint}>{offer.error?.message ?? "Its models are not known yet."}</span>
      {may && offer.error?.code !== "agent_missing" && (
        <Button size="small" onClick={() => void again()}>
          Ask the agent
        </Button>
      )}
    </div>
  );
}

export const Suggestions = ({ id, values }: { id: string; values: string[] }) => (
  <datalist id={id}>
    {values.map((value) => (
      <option key={value} value={value} />
    ))}
  </datalist>
);
