/** Who runs in a race: one row each, an agent and, if wanted, its model and effort. */

import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { useId } from "react";
import { sessionsQuery, useAgents } from "@/api/queries";
import type { Session } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { Input, Select } from "@/ui/controls/Field";
import css from "@/views/forms/layout/form.module.css";
import { offeredFor } from "@/views/forms/state/agentOptions";
import { isReady } from "@/views/forms/state/agentReadiness";
import { modelsOf } from "@/views/forms/state/lastChoices";
import own from "./Racers.module.css";

export interface Contender {
  id: number;
  agent: string;
  model: string;
  effort: string;
}

export const FEWEST = 2;
export const MOST = 8;

let next = 1;
export const contender = (agent: string, model = "", effort = ""): Contender => ({
  id: next++,
  agent,
  model,
  effort,
});

export function Contenders({
  value,
  onChange,
  from,
}: {
  value: Contender[];
  onChange: (value: Contender[]) => void;
  /** The session that they are branches of. */
  from: Session;
}) {
  const set = (id: number, change: Partial<Contender>) =>
    onChange(value.map((one) => (one.id === id ? { ...one, ...change } : one)));
  return (
    <>
      <ol className={css.stackSmall}>
        {value.map((one, at) => (
          <li key={one.id}>
            <Row
              contender={one}
              number={at + 1}
              from={from}
              onChange={(change) => set(one.id, change)}
              onRemove={
                value.length > FEWEST
                  ? () => onChange(value.filter((other) => other.id !== one.id))
                  : undefined
              }
            />
          </li>
        ))}
      </ol>
      <div className={css.row}>
        <Button
          size="small"
          icon={<Plus />}
          disabled={value.length >= MOST}
          onClick={() => onChange([...value, contender(value.at(-1)?.agent ?? "")])}
        >
          Add a contender
        </Button>
        {value.length >= MOST && <span className={css.hint}>{MOST} at most.</span>}
      </div>
    </>
  );
}

function Row({
  contender: one,
  number,
  from,
  onChange,
  onRemove,
}: {
  contender: Contender;
  number: number;
  from: Session;
  onChange: (change: Partial<Contender>) => void;
  onRemove?: () => void;
}) {
  const list = useId();
  const agents = (useAgents().data ?? []).filter((agent) => isReady(agent) || agent.name === one.agent);
  // What is left empty is inherited from the session, unless the agent is another.
  const inherited = one.agent === from.agent ? from : null;
  const offered = offeredFor(one.agent, useQuery(sessionsQuery).data ?? []);
  const models = [...new Set([...offered.models, ...modelsOf(one.agent)])];
  return (
    <div className={own.contender}>
      <Select
        aria-label={`Agent of contender ${number}`}
        value={one.agent}
        onChange={(event) => onChange({ agent: event.target.value, model: "", effort: "" })}
      >
        {agents.map((agent) => (
          <option key={agent.name} value={agent.name}>
            {agent.title}
          </option>
        ))}
      </Select>
      <Input
        aria-label={`Model of contender ${number}`}
        placeholder={inherited?.model || "Its own model"}
        value={one.model}
        onChange={(event) => onChange({ model: event.target.value })}
        list={`${list}-models`}
        autoCapitalize="none"
        spellCheck={false}
      />
      <Input
        aria-label={`Effort of contender ${number}`}
        placeholder={inherited?.effort || "Effort"}
        value={one.effort}
        onChange={(event) => onChange({ effort: event.target.value })}
        list={`${list}-efforts`}
        autoCapitalize="none"
        spellCheck={false}
      />
      <datalist id={`${list}-models`}>
        {models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <datalist id={`${list}-efforts`}>
        {offered.efforts.map((effort) => (
          <option key={effort} value={effort} />
        ))}
      </datalist>
      <IconButton label={`Remove contender ${number}`} onClick={onRemove} disabled={!onRemove}>
        <X />
      </IconButton>
    </div>
  );
}
