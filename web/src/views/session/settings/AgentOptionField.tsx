/** Model or effort: free text, as the agent names it, with what the agent says it offers. */
import { useId } from "react";
import type { Session } from "@/api/types";
import { Field, Input } from "@/ui/controls/Field";
import { offers } from "./settingsDraft";

const WORDS = {
  model: { label: "Model", hint: "As the agent names it. Empty is the agent's own choice." },
  effort: { label: "Effort", hint: "How hard it thinks. Empty is the agent's own choice." },
};

export function OfferField({
  session,
  which,
  value,
  onChange,
}: {
  session: Session;
  which: "model" | "effort";
  value: string;
  onChange: (value: string) => void;
}) {
  const list = useId();
  const offered = offers(session, which);
  return (
    <>
      <Field label={WORDS[which].label} hint={WORDS[which].hint}>
        <Input
          value={value}
          list={list}
          placeholder="Default"
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value)}
        />
      </Field>
      <datalist id={list}>
        {offered.map((one) => (
          <option key={one.value} value={one.value}>
            {one.name}
          </option>
        ))}
      </datalist>
    </>
  );
}
