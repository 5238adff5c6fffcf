/** Spawns a child: a session that starts with no context and reports back when it finishes. */
import { useState } from "react";
import { useLocation } from "wouter";
import { spawnSession } from "@/api/actions";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { sessionName } from "@/lib/words";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input } from "@/ui/controls/Field";
import { toast } from "@/ui/feedback/toast";
import { AdvancedFields } from "@/views/forms/fields/AdvancedFields";
import { CallbackFields } from "@/views/forms/fields/CallbackFields";
import { PromptField } from "@/views/forms/fields/PromptField";
import { DialogButtons } from "@/views/forms/layout/DialogButtons";
import { Fold } from "@/views/forms/layout/FormParts";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { type Draft, draftFromSession, toBranch } from "@/views/forms/state/draft";
import { rememberModel } from "@/views/forms/state/lastChoices";
import { BranchFields } from "./BranchFields";
import folds from "./dialogs.module.css";

export interface SpawnDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function SpawnDialog(props: SpawnDialogProps) {
  return props.open ? <SpawnForm {...props} /> : null;
}

function SpawnForm({ session, onClose }: SpawnDialogProps) {
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState<Draft>(() => draftFromSession(session));
  const set = (change: Partial<Draft>) => setDraft((known) => ({ ...known, ...change }));
  const form = useSubmit(
    () => spawnSession(session.id, toBranch(draft, session, "spawn")),
    ({ sessionId }) => {
      rememberModel(draft.agent, draft.model);
      onClose();
      // The page stays with the parent.
      toast("Child started.", {
        action: { label: "Open", run: () => navigate(routes.session(sessionId)) },
      });
    },
  );
  const submit = () => {
    if (draft.prompt.trim()) form.submit();
    else form.refuse("prompt", "Enter a prompt. The child does not know this conversation.");
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Spawn child"
      description={`Creates a child of “${sessionName(session)}” that starts with no context.`}
      onSubmit={submit}
      footer={
        <DialogButtons busy={form.busy} onClose={onClose}>
          Spawn
        </DialogButtons>
      }
    >
      <SubmitKeys onSubmit={submit}>
        <FormProblem of={form} />
        <PromptField
          label="Prompt"
          hint="The child sees only this prompt."
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
            offers={["same", "new", "worktree"]}
          />
          <Fold label="Report" value={draft.callback.enabled ? "Reports back" : "No report"}>
            <CallbackFields value={draft.callback} onChange={(callback) => set({ callback })} />
          </Fold>
          <AdvancedFields draft={draft} set={set} of={form} from={session} />
        </div>
      </SubmitKeys>
    </Dialog>
  );
}
