/** Edits environment variables as rows of name and value. Values that the server has stored are never shown again. */
import { Plus, X } from "lucide-react";
import { Button, IconButton } from "@/ui/controls/Button";
import { Input } from "@/ui/controls/Field";
import type { EnvLine } from "@/views/forms/state/draft";
import css from "./fields.module.css";

/** Stands for a value that the server has stored. */
export const MASKED_VALUE = "***";

export function EnvEditor({ value, onChange }: { value: EnvLine[]; onChange: (value: EnvLine[]) => void }) {
  const set = (id: string, change: Partial<EnvLine>) =>
    onChange(value.map((line) => (line.id === id ? { ...line, ...change } : line)));
  return (
    <>
      {value.map((line, index) => {
        const isStored = line.value === MASKED_VALUE;
        // A stored variable has its name as its id; clearing a new value keeps the stored one.
        const wasStored = line.id === line.name;
        return (
          <div className={css.envRow} key={line.id}>
            <Input
              aria-label={`Name of variable ${index + 1}`}
              placeholder="NAME"
              value={line.name}
              readOnly={isStored}
              onChange={(event) => set(line.id, { name: event.target.value })}
              autoCapitalize="none"
              autoComplete="off"
              spellCheck={false}
            />
            <Input
              aria-label={line.name ? `Value of ${line.name}` : `Value of variable ${index + 1}`}
              type="password"
              placeholder={isStored ? "unchanged" : "value"}
              value={isStored ? "" : line.value}
              onChange={(event) =>
                set(line.id, { value: event.target.value || (wasStored ? MASKED_VALUE : "") })
              }
              autoComplete="off"
              spellCheck={false}
            />
            <IconButton
              label={`Remove ${line.name || `variable ${index + 1}`}`}
              onClick={() => onChange(value.filter((other) => other.id !== line.id))}
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
          onClick={() => onChange([...value, { id: crypto.randomUUID(), name: "", value: "" }])}
        >
          Add variable
        </Button>
      </div>
    </>
  );
}
