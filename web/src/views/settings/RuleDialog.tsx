/** Adds or edits a policy rule. */
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
      title={rule ? "Edit rule" : "Add rule"}
      description="Applies when all conditions match; blank conditions always match. Takes effect immediately."
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy}>
            {rule ? "Save" : "Add"}
          </Button>
        </>
      }
    >
      <Field label="Decision" error={error}>
        <Select value={effect} onChange={(event) => setEffect(event.target.value as Rule["effect"])}>
          <option value="allow">Allow</option>
          <option value="ask">Ask</option>
          <option value="deny">Deny</option>
        </Select>
      </Field>
      <Field label="Command" hint="Pattern, for example git push*">
        <Input {...text("command")} />
      </Field>
      <Field label="Files" hint="Pattern, for example src/** or ~/.ssh/**">
        <Input {...text("path")} />
      </Field>
      <Field label="Kind of tool use">
        <Select {...text("kind")}>
          <option value="">Any</option>
          {KINDS.map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </Select>
      </Field>
      <Field label="Tool" hint="Pattern: the agent's name for it, or SERVER/TOOL">
        <Input {...text("tool")} />
      </Field>
      <Field label="Agent">
        <Select {...text("agent")}>
          <option value="">Any</option>
          {agents.map((agent) => (
            <option key={agent.name} value={agent.name}>
              {agent.title}
            </option>
          ))}
        </Select>
      </Field>
      <Field label="Reason" hint="Optional. Shown to people, and to the agent on a denial.">
        <Input {...text("note")} />
      </Field>
    </Dialog>
  );
}
