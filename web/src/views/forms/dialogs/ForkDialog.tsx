/** Forks a session: creates one that starts with a copy of its conversation, optionally up to a turn. */
import { useState } from "react";
import { useLocation } from "wouter";
import { forkSession } from "@/api/actions";
import { useTasks } from "@/api/queries";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { firstLine } from "@/lib/format";
import { sessionName } from "@/lib/words";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input } from "@/ui/controls/Field";
import { AdvancedFields } from "@/views/forms/fields/AdvancedFields";
import { PromptField } from "@/views/forms/fields/PromptField";
import { DialogButtons } from "@/views/forms/layout/DialogButtons";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { type Draft, draftFromSession, toBranch } from "@/views/forms/state/draft";
import { rememberModel } from "@/views/forms/state/lastChoices";
import { BranchFields } from "./BranchFields";
import folds from "./dialogs.module.css";

export interface ForkDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
  /** Forks after this task; after the last finished one if omitted. */
  taskId?: string;
}

export function ForkDialog(props: ForkDialogProps) {
  // Remounted each time it opens.
  return props.open ? <ForkForm {...props} /> : null;
}

function ForkForm({ session, onClose, taskId }: ForkDialogProps) {
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState<Draft>(() => draftFromSession(session));
  const set = (change: Partial<Draft>) => setDraft((known) => ({ ...known, ...change }));
  const task = useTasks(session.id).data?.find((other) => other.id === taskId);
  const form = useSubmit(
    () => forkSession(session.id, toBranch(draft, session, "fork", taskId)),
    ({ sessionId }) => {
      rememberModel(draft.agent, draft.model);
      onClose();
      navigate(routes.session(sessionId));
    },
  );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Fork session"
      description={
        taskId
          ? `Starts with the conversation of “${sessionName(session)}” up to ${task ? `“${firstLine(task.prompt, 60)}”` : "the chosen turn"}.`
          : `Starts with the conversation of “${sessionName(session)}” so far.`
      }
      onSubmit={form.submit}
      footer={
        <DialogButtons busy={form.busy} onClose={onClose}>
          Fork
        </DialogButtons>
      }
    >
      <SubmitKeys onSubmit={form.submit}>
        <FormProblem of={form} />
        <PromptField
          label="Prompt"
          hint="Optional. The fork's first prompt."
          value={draft.prompt}
          onChange={(prompt) => set({ prompt })}
          files={draft.files}
          onFiles={(files) => set({ files })}
          error={form.at("prompt")}
        />
        <Field label="Title" hint="Optional" error={form.at("title")}>
          <Input value={draft.title} onChange={(event) => set({ title: event.target.value })} />
        </Field>
        <div className={folds.folds}>
          <BranchFields
            draft={draft}
            set={set}
            session={session}
            of={form}
            offers={["same", "new"]}
            takesIgnored={!taskId}
            replays
          />
          <AdvancedFields draft={draft} set={set} of={form} from={session} />
        </div>
      </SubmitKeys>
    </Dialog>
  );
}
