/** Chooses the racers: an agent each, and optionally a model and effort. */

import { Plus, X } from "lucide-react";
import { useId } from "react";
import { useAgents, usePresets } from "@/api/queries";
import type { Session } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { Input, Select } from "@/ui/controls/Field";
import { Suggestions, useModelOptions } from "@/views/forms/fields/ModelFields";
import css from "@/views/forms/layout/form.module.css";
import { isReady } from "@/views/forms/state/agentReadiness";
import styles from "./Racers.module.css";

export interface Racer {
  id: number;
  /** The id of the preset that counts instead of an agent, or empty. */
  preset: string;
  agent: string;
  model: string;
  effort: string;
}

/** Tells presets from agents in the list. */
const PRESET = "preset:";

export const MIN_RACERS = 2;
export const MAX_RACERS = 8;

let next = 1;
export const newRacer = (agent: string, model = "", effort = ""): Racer => ({
  id: next++,
  preset: "",
  agent,
  model,
  effort,
});

export function Racers({
  value,
  onChange,
  from,
}: {
  value: Racer[];
  onChange: (value: Racer[]) => void;
  /** The session that is raced. */
  from: Session;
}) {
  const set = (id: number, change: Partial<Racer>) =>
    onChange(value.map((racer) => (racer.id === id ? { ...racer, ...change } : racer)));
  return (
    <>
      <ol className={css.stackSmall}>
        {value.map((racer, at) => (
          <li key={racer.id}>
            <Row
              racer={racer}
              number={at + 1}
              from={from}
              onChange={(change) => set(racer.id, change)}
              onRemove={
                value.length > MIN_RACERS
                  ? () => onChange(value.filter((other) => other.id !== racer.id))
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
          disabled={value.length >= MAX_RACERS}
          onClick={() => onChange([...value, newRacer(value.at(-1)?.agent ?? "")])}
        >
          Add racer
        </Button>
        {value.length >= MAX_RACERS && <span className={css.hint}>At most {MAX_RACERS} racers.</span>}
      </div>
    </>
  );
}

function Row({
  racer,
  number,
  from,
  onChange,
  onRemove,
}: {
  racer: Racer;
  number: number;
  from: Session;
  onChange: (change: Partial<Racer>) => void;
  onRemove?: () => void;
}) {
  const list = useId();
  const agents = (useAgents().data ?? []).filter((agent) => isReady(agent) || agent.name === racer.agent);
  // Empty values are the preset's, or inherited from the session if the agent is the same.
  const presets = usePresets().data ?? [];
  const preset = presets.find(({ id }) => id === racer.preset);
  const inherited = preset ?? (racer.agent === from.agent ? from : null);
  const offered = useModelOptions(racer.agent);
  return (
    <div className={styles.racer}>
      <Select
        aria-label={`Agent of racer ${number}`}
        value={racer.preset ? PRESET + racer.preset : racer.agent}
        onChange={(event) => {
          const chosen = presets.find(({ id }) => PRESET + id === event.target.value);
          if (chosen) onChange({ preset: chosen.id, agent: chosen.agent, model: "", effort: "" });
          else onChange({ preset: "", agent: event.target.value, model: "", effort: "" });
        }}
      >
        {agents.map((agent) => (
          <option key={agent.name} value={agent.name}>
            {agent.title}
          </option>
        ))}
        {presets.length > 0 && (
          <optgroup label="Presets">
            {presets.map(({ id, name }) => (
              <option key={id} value={PRESET + id}>
                {name}
              </option>
            ))}
          </optgroup>
        )}
      </Select>
      <Input
        aria-label={`Model of racer ${number}`}
        placeholder={inherited?.model || "Default model"}
        value={racer.model}
        onChange={(event) => onChange({ model: event.target.value })}
        list={`${list}-models`}
        autoCapitalize="none"
        spellCheck={false}
      />
      <Input
        aria-label={`Effort of racer ${number}`}
        placeholder={inherited?.effort || "Effort"}
        value={racer.effort}
        onChange={(event) => onChange({ effort: event.target.value })}
        list={`${list}-efforts`}
        autoCapitalize="none"
        spellCheck={false}
      />
      <Suggestions id={`${list}-models`} values={offered.models} />
      <Suggestions id={`${list}-efforts`} values={offered.efforts} />
      <IconButton label={`Remove racer ${number}`} onClick={onRemove} disabled={!onRemove}>
        <X />
      </IconButton>
    </div>
  );
}
