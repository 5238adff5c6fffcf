/** Adds or edits a saved prompt. */
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { addSavedPrompt, patchSavedPrompt } from "@/api/actions";
import { savedPromptsQuery } from "@/api/queries";
import type { SavedPrompt } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, TextArea } from "@/ui/controls/Field";
import { useSave } from "./useSave";

export function PromptDialog({
  prompt,
  text: begun = "",
  onClose,
}: {
  /** The prompt to edit; null for a new one. */
  prompt: SavedPrompt | null;
  /** What a new one begins with. */
  text?: string;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const [name, setName] = useState(prompt?.name ?? "");
  const [text, setText] = useState(prompt?.text ?? begun);
  const { busy, error, save } = useSave(async () => {
    await (prompt ? patchSavedPrompt(prompt.name, { name, text }) : addSavedPrompt({ name, text }));
    await queries.invalidateQueries({ queryKey: savedPromptsQuery.queryKey });
  }, onClose);
  return (
    <Dialog
      open
      onClose={onClose}
      title={prompt ? `Edit ${prompt.name}` : "Save a prompt"}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy}>
            Save
          </Button>
        </>
      }
    >
      <Field
        label="Name"
        hint="Letters, digits, - and _. Type it after a slash to insert the prompt."
        error={error}
      >
        <Input
          value={name}
          required
          maxLength={60}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Field label="Prompt">
        <TextArea value={text} required rows={8} onChange={(event) => setText(event.target.value)} />
      </Field>
    </Dialog>
  );
}
