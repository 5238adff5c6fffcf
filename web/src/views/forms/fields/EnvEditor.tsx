/** Environment variables as lines of name and value. */
import { Plus, X } from "lucide-react";
import { Button, IconButton } from "@/ui/controls/Button";
import { Input } from "@/ui/controls/Field";
import type { EnvLine } from "@/views/forms/state/draft";
import own from "./EnvEditor.module.css";

export function EnvEditor({ value, onChange }: { value: EnvLine[]; onChange: (value: EnvLine[]) => void }) {
  const set = (at: number, change: Partial<EnvLine>) =>
    onChange(value.map((line, index) => (index === at ? { ...line, ...change } : line)));
  return (
    <>
      {value.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line has no name before one is typed
        <div className={own.envRow} key={at}>
          <Input
            aria-label={`Name of variable ${at + 1}`}
            placeholder="NAME"
            value={line.name}
            onChange={(event) => set(at, { name: event.target.value })}
            autoCapitalize="none"
            spellCheck={false}
          />
          <Input
            aria-label={`Value of variable ${at + 1}`}
            placeholder="value"
            value={line.value}
            onChange={(event) => set(at, { value: event.target.value })}
            autoComplete="off"
            spellCheck={false}
          />
          <IconButton
            label={`Remove variable ${at + 1}`}
            onClick={() => onChange(value.filter((_, index) => index !== at))}
          >
            <X />
          </IconButton>
        </div>
      ))}
      <div>
        <Button size="small" icon={<Plus />} onClick={() => onChange([...value, { name: "", value: "" }])}>
          Add a variable
        </Button>
      </div>
    </>
  );
}
