/** Adds an agent from a registry's entry: a pasted or chosen agent.json, or a name in the registry of the setting. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "@/api/client";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, TextArea } from "@/ui/controls/Field";
import css from "./Settings.module.css";
import { useSave } from "./useSave";

export function AddAgentDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [entry, setEntry] = useState("");
  const [name, setName] = useState("");
  const { busy, error, save } = useSave(async () => {
    const body = entry.trim() ? { entry } : { name: name.trim() };
    await dataOf(api.POST("/api/agents", { body }));
    await client.invalidateQueries({ queryKey: ["agents"] });
  }, onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add agent"
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy} disabled={!entry.trim() && !name.trim()}>
            Add
          </Button>
        </>
      }
    >
      <p className={css.soft}>
        Nothing is run or installed. Bough has not measured agents from registries: it knows neither their
        modes nor their quirks.
      </p>
      <Field label="Entry" hint="The text of the agent's agent.json." error={error}>
        <TextArea
          value={entry}
          onChange={(event) => setEntry(event.target.value)}
          rows={8}
          spellCheck={false}
        />
      </Field>
      <Field label="Name" hint="Instead of an entry: its id in the registry of the setting agent_registry.">
        <Input
          value={name}
          onChange={(event) => setName(event.target.value)}
          disabled={entry.trim() !== ""}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
    </Dialog>
  );
}
