/** The mode and the model of a session as chips below its prompt. A change counts from the next prompt. */
import { ShieldCheck, Sparkles } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { patchSession, runRequest } from "@/api/actions";
import { useAgents } from "@/api/queries";
import type { Mode, Session } from "@/api/types";
import { modeName, neverAsks } from "@/lib/words";
import { Chip, ChipInput, ChipSelect } from "@/ui/controls/Chip";
import { Suggestions, useModelOptions } from "@/views/forms/fields/ModelFields";
import { offeredModes } from "@/views/forms/state/offeredModes";

export function SettingChips({ session, disabled }: { session: Session; disabled: boolean }) {
  const agent = useAgents().data?.find(({ name }) => name === session.agent);
  const [asked, setAsked] = useState<Mode | null>(null);
  const mode = asked ?? session.permissionMode;
  const offered = offeredModes(agent).filter((item) => item.refused === null || item.mode === mode);
  const change = async (permissionMode: Mode) => {
    setAsked(permissionMode);
    await runRequest(() => patchSession(session.id, { permissionMode }));
    setAsked(null);
  };
  return (
    <>
      <ChipSelect
        icon={<ShieldCheck />}
        label="Mode of the session"
        value={mode}
        danger={neverAsks(mode)}
        disabled={disabled || asked !== null}
        title={offered.find((item) => item.mode === mode)?.description}
        onChange={(event) => void change(event.target.value as Mode)}
      >
        {offered.map((item) => (
          <option key={item.mode} value={item.mode}>
            {modeName(item.mode)}
          </option>
        ))}
      </ChipSelect>
      <ModelChip session={session} disabled={disabled} />
    </>
  );
}

/** Saves what was typed on Enter and when the field is left; Escape takes it back. */
function ModelChip({ session, disabled }: { session: Session; disabled: boolean }) {
  const id = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const { models } = useModelOptions(session.agent, { from: session });
  const model = typed ?? session.model ?? "";
  const save = async () => {
    if (typed === null) return;
    const chosen = typed.trim() || null;
    if (chosen !== session.model) await runRequest(() => patchSession(session.id, { model: chosen }));
    setTyped(null);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key === "Enter") {
      // The form around it would send the prompt.
      event.preventDefault();
      void save();
    } else if (event.key === "Escape") setTyped(null);
  };
  return (
    <Chip icon={<Sparkles />}>
      <ChipInput
        aria-label="Model of the session"
        placeholder="Default model"
        value={model}
        size={Math.max(model.length, 11)}
        list={id}
        disabled={disabled}
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={onKeyDown}
        onBlur={() => void save()}
      />
      <Suggestions id={id} values={models} />
    </Chip>
  );
}
