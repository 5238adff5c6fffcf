/** Environment variables of the agent: names are shown, values are kept by the server and replaced by stars. */
import { Plus, X } from "lucide-react";
import { Button, IconButton } from "@/ui/controls/Button";
import { Input } from "@/ui/controls/Field";
import css from "./Settings.module.css";
import { MASK, type Variable } from "./settingsDraft";

export function EnvFields({ env, onChange }: { env: Variable[]; onChange: (env: Variable[]) => void }) {
  const set = (id: string, change: Partial<Variable>) =>
    onChange(env.map((one) => (one.id === id ? { ...one, ...change } : one)));
  return (
    <fieldset className={css.part}>
      <legend className={css.head}>Environment</legend>
      <p className={css.hint}>Values are secret: they are stored and never shown again.</p>
      {env.map((one) => {
        const kept = one.value === MASK;
        return (
          <div key={one.id} className={css.variable}>
            <Input
              aria-label="Name of the variable"
              placeholder="NAME"
              spellCheck={false}
              value={one.name}
              readOnly={kept}
              onChange={(event) => set(one.id, { name: event.target.value })}
            />
            <Input
              aria-label={`Value of ${one.name || "the new variable"}`}
              type="password"
              autoComplete="off"
              placeholder={kept ? "kept" : "value"}
              value={kept ? "" : one.value}
              onChange={(event) =>
                set(one.id, { value: event.target.value || (one.id === one.name ? MASK : "") })
              }
            />
            <IconButton
              label={`Remove ${one.name || "the new variable"}`}
              onClick={() => onChange(env.filter((other) => other.id !== one.id))}
            >
              <X />
            </IconButton>
          </div>
        );
      })}
      <div>
        <Button
          size="small"
          icon={<Plus />}
          onClick={() => onChange([...env, { id: crypto.randomUUID(), name: "", value: "" }])}
        >
          Add a variable
        </Button>
      </div>
    </fieldset>
  );
}
