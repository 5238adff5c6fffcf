/** Chooses a mode: how much the agent may do without asking. */
import { TriangleAlert } from "lucide-react";
import { useId } from "react";
import { useAgents } from "@/api/queries";
import type { Mode } from "@/api/types";
import { modeName, neverAsks, resolveMode } from "@/lib/words";
import { Badge } from "@/ui/labels/Badge";
import fields from "@/views/forms/fields/fields.module.css";
import { Choice } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { grantsMore, offeredModes } from "@/views/forms/state/offeredModes";

export function ModePicker({
  value,
  onChange,
  agent,
  from,
}: {
  value: Mode;
  onChange: (mode: Mode) => void;
  agent: string | null;
  /** The mode of the session that the new one branches from. */
  from?: Mode;
}) {
  const name = useId();
  const chosen = resolveMode(value);
  const known = useAgents().data?.find((other) => other.name === agent);
  return (
    <>
      <div className={css.choices}>
        {offeredModes(known).map((offered) => (
          <Choice
            key={offered.mode}
            name={name}
            checked={offered.mode === chosen}
            onChoose={() => onChange(offered.mode)}
            disabled={offered.refused !== null}
            title={offered.name}
            marks={neverAsks(offered.mode) && <Badge tone="failed">never asks</Badge>}
          >
            <span>{offered.refused ?? offered.description}</span>
            {offered.mode === chosen && offered.note && known && (
              <span className={fields.note}>
                {known.title}: {offered.note}
              </span>
            )}
          </Choice>
        ))}
      </div>
      {from && grantsMore(value, from) && (
        <p className={css.warning}>
          <TriangleAlert aria-hidden />
          <span>This grants more than {modeName(from)}, this session's own mode.</span>
        </p>
      )}
      {neverAsks(value) && (
        <p className={css.warning}>
          <TriangleAlert aria-hidden />
          <span>
            The agent runs commands and leaves the folder without asking. Use this only where nothing can be
            lost.
          </span>
        </p>
      )}
    </>
  );
}
