/** Edits the arguments of a proposed call before it is approved. */
import { useState } from "react";
import { useAgents } from "@/api/queries";
import { MODES } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Select, TextArea } from "@/ui/controls/Field";
import css from "./ApprovalCard.module.css";
import { type EditableArgument, editableArguments, type Proposal, withEdits } from "./proposedCall";

interface Props {
  proposal: Proposal;
  busy: boolean;
  close: () => void;
  approve: (args: Record<string, unknown>) => void;
}

export function EditCallForm({ proposal, busy, close, approve }: Props) {
  const fields = editableArguments(proposal);
  const [edits, setEdits] = useState<Record<string, string>>(() =>
    Object.fromEntries(fields.map(({ name }) => [name, String(proposal.arguments[name] ?? "")])),
  );
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        approve(withEdits(proposal, edits));
      }}
    >
      {fields.map((field) => (
        <ArgumentField
          key={field.name}
          field={field}
          value={edits[field.name] ?? ""}
          onChange={(value) => setEdits({ ...edits, [field.name]: value })}
        />
      ))}
      <div className={css.answers}>
        <Button type="submit" variant="primary" busy={busy}>
          Approve with changes
        </Button>
        <Button variant="quiet" onClick={close}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

function ArgumentField({
  field: { label, kind },
  value,
  onChange,
}: {
  field: EditableArgument;
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
        <option value="">Same as the session</option>
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
