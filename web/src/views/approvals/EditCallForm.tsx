/** Changes what an agent proposes before it is approved: a few fields in place of its arguments. */
import { useState } from "react";
import { useAgents } from "@/api/queries";
import { MODES } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Select, TextArea } from "@/ui/controls/Field";
import css from "./ApprovalCard.module.css";
import { type CallField, changedArguments, fieldsOf, type Proposal } from "./proposedCall";

interface Props {
  proposal: Proposal;
  busy: boolean;
  close: () => void;
  approve: (given: Record<string, unknown>) => void;
}

export function CallForm({ proposal, busy, close, approve }: Props) {
  const fields = fieldsOf(proposal);
  const [typed, setTyped] = useState<Record<string, string>>(() =>
    Object.fromEntries(fields.map(({ name }) => [name, String(proposal.arguments[name] ?? "")])),
  );
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        approve(changedArguments(proposal, typed));
      }}
    >
      {fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          value={typed[field.name] ?? ""}
          onChange={(value) => setTyped({ ...typed, [field.name]: value })}
        />
      ))}
      <div className={css.answers}>
        <Button type="submit" look="primary" busy={busy}>
          Approve with changes
        </Button>
        <Button look="quiet" onClick={close}>
          Back
        </Button>
      </div>
    </form>
  );
}

function OneField({
  field: { label, kind },
  value,
  onChange,
}: {
  field: CallField;
  value: string;
  onChange: (value: string) => void;
}) {
  const agents = useAgents().data ?? [];
  const change = (event: { target: { value: string } }) => onChange(event.target.value);
  if (kind === "text")
    return (
      <Field label={label}>
        <TextArea value={value} onChange={change} rows={3} />
      </Field>
    );
  if (kind === "line")
    return (
      <Field label={label}>
        <Input value={value} onChange={change} />
      </Field>
    );
  return (
    <Field label={label}>
      <Select value={value} onChange={change}>
        <option value="">As it is there</option>
        {kind === "agent"
          ? agents.map((agent) => (
              <option key={agent.name} value={agent.name}>
                {agent.title}
              </option>
            ))
          : MODES.map(({ mode, name }) => (
              <option key={mode} value={mode}>
                {name}
              </option>
            ))}
      </Select>
    </Field>
  );
}
