/** Adds or edits a preset. Values of variables that are not edited stay stored. */
import { useState } from "react";
import { addPreset, patchPreset } from "@/api/actions";
import { useAgents } from "@/api/queries";
import type { Mode, Preset } from "@/api/types";
import { modeName } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, Select, TextArea } from "@/ui/controls/Field";
import { McpServerChoices } from "@/views/forms/fields/McpServerChoices";
import { ModelFields } from "@/views/forms/fields/ModelFields";
import { SandboxProfileSelect } from "@/views/forms/fields/permissions/SandboxProfileSelect";
import { SandboxSelect } from "@/views/forms/fields/permissions/SandboxSelect";
import { FormSection } from "@/views/forms/layout/FormParts";
import type { SandboxChoice, SandboxProfile } from "@/views/forms/state/draft";
import { fromLines, toLines } from "./envLines";
import { useSave } from "./useSave";

export function PresetDialog({ preset, onClose }: { preset: Preset | null; onClose: () => void }) {
  const [name, setName] = useState(preset?.name ?? "");
  const [description, setDescription] = useState(preset?.description ?? "");
  const [agent, setAgent] = useState(preset?.agent ?? "");
  const [mode, setMode] = useState<Mode | "">(preset?.permissionMode ?? "");
  const [tuning, setTuning] = useState({ model: preset?.model ?? "", effort: preset?.effort ?? "" });
  const [mcpServerIds, setMcpServerIds] = useState(preset?.mcpServerIds ?? []);
  const [env, setEnv] = useState(toLines(preset?.env ?? {}));
  const [instructions, setInstructions] = useState(preset?.instructions ?? "");
  const [sandbox, setSandbox] = useState<SandboxChoice>(preset?.sandbox ?? null);
  const [sandboxProfile, setSandboxProfile] = useState<SandboxProfile>(preset?.sandboxProfile ?? null);
  const { data: agents = [] } = useAgents();
  const modes = Object.keys(agents.find((other) => other.name === agent)?.modes ?? {}) as Mode[];
  const { busy, error, save } = useSave(async () => {
    const fields = {
      name: name.trim(),
      description: description.trim(),
      agent,
      permissionMode: mode || null,
      model: tuning.model.trim() || null,
      effort: tuning.effort.trim() || null,
      mcpServerIds,
      env: fromLines(env),
      instructions,
      sandbox,
      sandboxProfile,
    };
    if (preset) await patchPreset(preset.id, fields);
    else await addPreset(fields);
  }, onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title={preset ? `Edit ${preset.name}` : "Add preset"}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy}>
            {preset ? "Save" : "Add"}
          </Button>
        </>
      }
    >
      <Field label="Name" hint="Letters, digits, - and _." error={error}>
        <Input value={name} onChange={(event) => setName(event.target.value)} required />
      </Field>
      <Field label="Description" hint="Optional">
        <Input value={description} onChange={(event) => setDescription(event.target.value)} />
      </Field>
      <Field label="Agent">
        <Select value={agent} required onChange={(event) => setAgent(event.target.value)}>
          <option value="">Choose…</option>
          {agents
            .filter((other) => !other.error)
            .map((other) => (
              <option key={other.name} value={other.name}>
                {other.title}
              </option>
            ))}
        </Select>
      </Field>
      <Field label="Mode">
        <Select value={mode} onChange={(event) => setMode(event.target.value as Mode | "")}>
          <option value="">The session's</option>
          {(mode && !modes.includes(mode) ? [mode, ...modes] : modes).map((other) => (
            <option key={other} value={other}>
              {modeName(other)}
            </option>
          ))}
        </Select>
      </Field>
      <ModelFields
        agent={agent || null}
        model={tuning.model}
        effort={tuning.effort}
        onChange={(change) => setTuning((known) => ({ ...known, ...change }))}
      />
      <Field label="Instructions" hint="Optional. The agent gets them before the first prompt.">
        <TextArea
          value={instructions}
          onChange={(event) => setInstructions(event.target.value)}
          rows={4}
          maxLength={20000}
        />
      </Field>
      <FormSection label="MCP servers">
        <McpServerChoices value={mcpServerIds} onChange={setMcpServerIds} />
      </FormSection>
      <Field
        label="Variables"
        hint="One NAME=value per line. Values are stored as secrets; *** keeps the stored value."
      >
        <TextArea value={env} onChange={(event) => setEnv(event.target.value)} rows={3} spellCheck={false} />
      </Field>
      <SandboxSelect value={sandbox} onChange={setSandbox} />
      <SandboxProfileSelect value={sandboxProfile} onChange={setSandboxProfile} />
    </Dialog>
  );
}
