/** Edits the agent's environment variables. The server never sends stored values, so they can only be replaced. */
import { Plus, X } from "lucide-react";
import { Button, IconButton } from "@/ui/controls/Button";
import { Input } from "@/ui/controls/Field";
import css from "./Settings.module.css";
import { MASK, type Variable } from "./settingsDraft";

export function EnvFields({ env, onChange }: { env: Variable[]; onChange: (env: Variable[]) => void }) {
  const set = (id: string, change: Partial<Variable>) =>
    onChange(env.map((variable) => (variable.id === id ? { ...variable, ...change } : variable)));
  return (
    <fieldset className={css.part}>
      <legend className={css.head}>Environment</legend>
      <p className={css.hint}>Values are secret and never shown again.</p>
      {env.map((variable) => {
        const isStored = variable.value === MASK;
        const name = variable.name || "the new variable";
        return (
          <div key={variable.id} className={css.variable}>
            <Input
              aria-label="Variable name"
              placeholder="NAME"
              spellCheck={false}
              value={variable.name}
              readOnly={isStored}
              onChange={(event) => set(variable.id, { name: event.target.value })}
            />
            <Input
              aria-label={`Value of ${name}`}
              type="password"
              autoComplete="off"
              placeholder={isStored ? "unchanged" : "value"}
              value={isStored ? "" : variable.value}
              onChange={(event) =>
                set(variable.id, { value: event.target.value || (variable.id === variable.name ? MASK : "") })
              }
            />
            <IconButton
              label={`Remove ${name}`}
              onClick={() => onChange(env.filter((other) => other.id !== variable.id))}
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
          Add variable
        </Button>
      </div>
    </fieldset>
  );
}
