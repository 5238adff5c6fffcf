/** Settings of presets, which new sessions can start from. */
import { Plus, SlidersHorizontal, Trash2 } from "lucide-react";
import { useState } from "react";
import { removePreset, runRequest } from "@/api/actions";
import { usePresets } from "@/api/queries";
import type { Preset } from "@/api/types";
import { modeName } from "@/lib/words";
import { Button, IconButton } from "@/ui/controls/Button";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { Badge } from "@/ui/labels/Badge";
import { PresetDialog } from "./PresetDialog";
import css from "./Settings.module.css";

export function PresetSettings() {
  const [shown, setShown] = useState<Preset | "new" | null>(null);
  return (
    <>
      <div className={css.actions}>
        <Button variant="primary" icon={<Plus />} onClick={() => setShown("new")}>
          Add preset
        </Button>
      </div>
      <QueryResult query={usePresets()}>
        {(presets) =>
          presets.length ? (
            <ul className={css.list}>
              {presets.map((preset) => (
                <li key={preset.id} className={css.card}>
                  <div className={css.row}>
                    <h2 className={`${css.grow} ${css.name}`}>{preset.name}</h2>
                    <Badge>{preset.agent}</Badge>
                    {preset.permissionMode && <Badge>{modeName(preset.permissionMode)}</Badge>}
                    <Button size="small" onClick={() => setShown(preset)}>
                      Edit
                    </Button>
                    <IconButton
                      label={`Remove ${preset.name}`}
                      size="small"
                      onClick={() => void runRequest(() => removePreset(preset.id))}
                    >
                      <Trash2 />
                    </IconButton>
                  </div>
                  {preset.description && <p className={css.soft}>{preset.description}</p>}
                </li>
              ))}
            </ul>
          ) : (
            <Empty icon={<SlidersHorizontal />} title="No presets yet">
              A preset is a named combination of an agent, its model, mode, MCP servers, variables and
              instructions. New sessions, forks, races and schedules can start from it.
            </Empty>
          )
        }
      </QueryResult>
      {shown && <PresetDialog preset={shown === "new" ? null : shown} onClose={() => setShown(null)} />}
    </>
  );
}
