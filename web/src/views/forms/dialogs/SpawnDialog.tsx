/** Spawning a child: a session that begins afresh with one piece of work, and reports back when it is done. */
import { useState } from "react";
import { useLocation } from "wouter";
import { spawnSession } from "@/api/actions";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { nameOf } from "@/lib/words";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input } from "@/ui/controls/Field";
import { toast } from "@/ui/feedback/toast";
import { CallbackPart } from "@/views/forms/fields/CallbackFields";
import { More } from "@/views/forms/fields/MoreFields";
import { PromptPart } from "@/views/forms/fields/PromptField";
import { Footer } from "@/views/forms/layout/DialogButtons";
import { Fold } from "@/views/forms/layout/FormParts";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { type Draft, fromSession, toBranch } from "@/views/forms/state/draft";
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
  const [draft, setDraft] = useState<Draft>(() => fromSession(session));
  const set = (change: Partial<Draft>) => setDraft((known) => ({ ...known, ...change }));
  const form = useSubmit(
    () => spawnSession(session.id, toBranch(draft, session, "spawn")),
    ({ sessionId }) => {
      rememberModel(draft.agent, draft.model);
      onClose();
      // The parent stays in sight: its child works beside it.
      toast("The child is at work.", {
        action: { label: "Open it", run: () => navigate(routes.session(sessionId)) },
      });
    },
  );
  const submit = () => {
    if (draft.prompt.trim()) form.submit();
    else form.refuse("prompt", "Say what the child is to do: it knows nothing of this conversation.");
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Spawn a child"
      description={`A child of “${nameOf(session)}” begins afresh: it knows only what you tell it here.`}
      onSubmit={submit}
      footer={
        <Footer busy={form.busy} onClose={onClose}>
          Spawn
        </Footer>
      }
    >
      <SubmitKeys onSubmit={submit}>
        <FormProblem of={form} />
        <PromptPart
          label="Prompt"
          hint="All that the child needs to know."
          value={draft.prompt}
          onChange={(prompt) => set({ prompt })}
          files={draft.files}
          onFiles={(files) => set({ files })}
          error={form.at("prompt")}
        />
        <Field label="Title" hint="May be left empty." error={form.at("title")}>
          <Input value={draft.title} onChange={(event) => set({ title: event.target.value })} />
        </Field>
        <div className={folds.folds}>
          <BranchFields
            draft={draft}
            set={set}
            session={session}
            of={form}
            offers={["same", "new", "worktree"]}
            most={session.permissionMode}
          />
          <Fold label="Report" value={draft.callback.enabled ? "Reports back" : "Does not report back"}>
            <CallbackPart value={draft.callback} onChange={(callback) => set({ callback })} />
          </Fold>
          <More draft={draft} set={set} of={form} from={session} />
        </div>
      </SubmitKeys>
    </Dialog>
  );
}
