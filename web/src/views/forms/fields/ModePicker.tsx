/** Choosing a mode: how much the agent may do without asking, in order of rights, and what this agent makes of it. */
import { TriangleAlert } from "lucide-react";
import { useId } from "react";
import { useAgents } from "@/api/queries";
import type { Mode } from "@/api/types";
import { isUnasked } from "@/lib/words";
import { Badge } from "@/ui/labels/Badge";
import { Choice } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { offeredModes } from "@/views/forms/state/offeredModes";
import own from "./ModePicker.module.css";

export function ModePicker({
  value,
  onChange,
  agent,
  most,
}: {
  value: Mode;
  onChange: (mode: Mode) => void;
  agent: string | null;
  /** No mode above this one can be chosen. */
  most?: Mode;
}) {
  const name = useId();
  const known = useAgents().data?.find((one) => one.name === agent);
  return (
    <>
      <div className={css.choices}>
        {offeredModes(value, known, most).map((one) => (
          <Choice
            key={one.mode}
            name={name}
            checked={one.mode === value}
            onChoose={() => onChange(one.mode)}
            disabled={one.refused !== null}
            title={one.name}
            marks={isUnasked(one.mode) && <Badge tone="failed">asks nothing</Badge>}
          >
            <span>{one.refused ?? one.words}</span>
            {one.mode === value && one.note && known && (
              <span className={own.note}>
                {known.title}: {one.note}
              </span>
            )}
          </Choice>
        ))}
      </div>
      {isUnasked(value) && (
        <p className={css.warning}>
          <TriangleAlert aria-hidden />
          <span>
            Nobody will be asked: neither before commands, nor before what reaches beyond the folder. Use it
            only where nothing can be lost.
          </span>
        </p>
      )}
    </>
  );
}
