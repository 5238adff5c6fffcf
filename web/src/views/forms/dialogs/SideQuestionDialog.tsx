/** Asks a session a side question, and shows the answer as it streams. */
import { useState } from "react";
import { useLocation } from "wouter";
import { askSideQuestion } from "@/api/actions";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { sessionName } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { toast } from "@/ui/feedback/toast";
import { PromptField } from "@/views/forms/fields/PromptField";
import { DialogButtons } from "@/views/forms/layout/DialogButtons";
import { focusOnce } from "@/views/forms/layout/focusOnce";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { SideQuestionAnswer } from "./SideQuestionAnswer";

export interface SideQuestionDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function SideQuestionDialog(props: SideQuestionDialogProps) {
  return props.open ? <SideQuestionForm {...props} /> : null;
}

function SideQuestionForm({ session, onClose }: SideQuestionDialogProps) {
  const [, navigate] = useLocation();
  const [question, setQuestion] = useState("");
  const [asked, setAsked] = useState<string | null>(null);
  const [finished, setFinished] = useState(false);
  const form = useSubmit(
    () => askSideQuestion(session.id, { prompt: question }),
    ({ sessionId }) => setAsked(sessionId),
  );
  const submit = () => {
    if (question.trim()) form.submit();
    else form.refuse("prompt", "Enter a question.");
  };
  const close = () => {
    if (asked && !finished)
      toast("The answer will appear in the transcript.", {
        action: { label: "Open side question", run: () => navigate(routes.session(asked)) },
      });
    onClose();
  };
  if (asked)
    return (
      <Dialog
        open
        onClose={close}
        title="Side question"
        description="The answer is also in the session's transcript."
        footer={
          <>
            <Button
              onClick={() => {
                onClose();
                navigate(routes.session(asked));
              }}
            >
              Open side question
            </Button>
            <Button variant="primary" onClick={close} ref={focusOnce}>
              Close
            </Button>
          </>
        }
      >
        <SideQuestionAnswer sessionId={asked} question={question} onFinish={() => setFinished(true)} />
      </Dialog>
    );
  return (
    <Dialog
      open
      onClose={close}
      title="Side question"
      description={`Asks “${sessionName(session)}” without interrupting it. The agent can read files but changes nothing, and the question does not become part of its conversation.`}
      onSubmit={submit}
      footer={
        <DialogButtons busy={form.busy} onClose={close}>
          Ask
        </DialogButtons>
      }
    >
      <SubmitKeys onSubmit={submit}>
        <FormProblem of={form} />
        <PromptField
          label="Question"
          hint="The answer appears here and in the transcript."
          value={question}
          onChange={setQuestion}
          error={form.at("prompt")}
          rows={3}
          placeholder="What have you found so far?"
        />
      </SubmitKeys>
    </Dialog>
  );
}
