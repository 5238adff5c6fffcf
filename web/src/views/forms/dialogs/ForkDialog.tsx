/** Forking a session: a sibling that knows the conversation, up to a task, and goes another way. */
import { useState } from "react";
import { useLocation } from "wouter";
import { forkSession } from "@/api/actions";
import { useTasks } from "@/api/queries";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { firstLine } from "@/lib/format";
import { nameOf } from "@/lib/words";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input } from "@/ui/controls/Field";
import { More } from "@/views/forms/fields/MoreFields";
import { PromptPart } from "@/views/forms/fields/PromptField";
import { Footer } from "@/views/forms/layout/DialogButtons";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { type Draft, fromSession, toBranch } from "@/views/forms/state/draft";
import { rememberModel } from "@/views/forms/state/lastChoices";
import { BranchFields } from "./BranchFields";
import folds from "./dialogs.module.css";

export interface ForkDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
  /** Fork after this task; the last finished one if it is not given. */
  taskId?: string;
}

export function ForkDialog(props: ForkDialogProps) {
  // Each opening is a new form.
  return props.open ? <ForkForm {...props} /> : null;
}

function ForkForm({ session, onClose, taskId }: ForkDialogProps) {
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState<Draft>(() => fromSession(session));
  const set = (change: Partial<Draft>) => setDraft((known) => ({ ...known, ...change }));
  const task = useTasks(session.id).data?.find((one) => one.id === taskId);
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
      title="Fork this session"
      description={
        taskId
          ? `The fork knows “${nameOf(session)}” up to ${task ? `“${firstLine(task.prompt, 60)}”` : "the task you chose"}, and goes its own way from there.`
          : `The fork knows all of “${nameOf(session)}” so far, and goes its own way from here.`
      }
      onSubmit={form.submit}
      footer={
        <Footer busy={form.busy} onClose={onClose}>
          Fork
        </Footer>
      }
    >
      <SubmitKeys onSubmit={form.submit}>
        <FormProblem of={form} />
        <PromptPart
          label="Prompt"
          hint="What the fork does first. May be left empty."
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
            offers={["same", "new"]}
            takesIgnored={!taskId}
            replays
          />
          <More draft={draft} set={set} of={form} from={session} />
        </div>
      </SubmitKeys>
    </Dialog>
  );
}
