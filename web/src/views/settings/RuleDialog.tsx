/** The form of a rule. */
import { useState } from "react";
import { addRule, patchRule } from "@/api/actions";
import { useAgents } from "@/api/queries";
import type { Rule } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, Select } from "@/ui/controls/Field";
import { useSave } from "./useSave";

const KINDS = [
  "read",
  "search",
  "edit",
  "delete",
  "move",
  "execute",
  "fetch",
  "think",
  "switch_mode",
  "mcp",
  "other",
];

export function RuleDialog({ rule, onClose }: { rule: Rule | null; onClose: () => void }) {
  const { data: agents = [] } = useAgents();
  const [effect, setEffect] = useState<Rule["effect"]>(rule?.effect ?? "ask");
  const [texts, setTexts] = useState({
    kind: rule?.kind ?? "",
    agent: rule?.agent ?? "",
    tool: rule?.tool ?? "",
    command: rule?.command ?? "",
    path: rule?.path ?? "",
    note: rule?.note ?? "",
  });
  const text = (name: keyof typeof texts) => ({
    value: texts[name],
    onChange: (event: { target: { value: string } }) => setTexts({ ...texts, [name]: event.target.value }),
  });
  const { busy, error, save } = useSave(async () => {
    const { note, kind, ...rest } = texts;
    const conditions = Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [name, value.trim() || null]),
    );
    const body = { effect, note, kind: (kind || null) as Rule["kind"], ...conditions };
    if (rule) await patchRule(rule.id, body);
    else await addRule(body);
  }, onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title={rule ? "Change the rule" : "Add a rule"}
      description="All conditions must hold; what is left empty holds always. It counts from the next question on."
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" busy={busy}>
            {rule ? "Save" : "Add"}
          </Button>
        </>
      }
    >
      <Field label="Answer" error={error}>
        <Select value={effect} onChange={(event) => setEffect(event.target.value as Rule["effect"])}>
          <option value="allow">Allow</option>
          <option value="ask">Ask a person</option>
          <option value="deny">Deny</option>
        </Select>
      </Field>
      <Field label="Command" hint="A pattern: git push*">
        <Input {...text("command")} />
      </Field>
      <Field label="Files" hint="A pattern: src/**, ~/.ssh/**">
        <Input {...text("path")} />
      </Field>
      <Field label="Kind of use">
        <Select {...text("kind")}>
          <option value="">Any</option>
          {KINDS.map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </Select>
      </Field>
      <Field label="Tool" hint="As the agent calls it, or SERVER/TOOL: a pattern">
        <Input {...text("tool")} />
      </Field>
      <Field label="Agent">
        <Select {...text("agent")}>
          <option value="">Any</option>
          {agents.map((one) => (
            <option key={one.name} value={one.name}>
              {one.title}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="Why" hint="Shown to people, and to the agent when it is denied.">
        <Input {...text("note")} />
      </Field>
    </Dialog>
  );
}
