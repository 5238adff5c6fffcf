/** Asking a session something beside its work: nothing is changed, and the answer is shown here as it comes. */
import { useState } from "react";
import { useLocation } from "wouter";
import { askAside } from "@/api/actions";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { nameOf } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { toast } from "@/ui/feedback/toast";
import { PromptPart } from "@/views/forms/fields/PromptField";
import { Footer } from "@/views/forms/layout/DialogButtons";
import { focusOnce } from "@/views/forms/layout/focusOnce";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { AsideAnswer } from "./SideQuestionAnswer";

export interface AsideDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function AsideDialog(props: AsideDialogProps) {
  return props.open ? <AsideForm {...props} /> : null;
}

function AsideForm({ session, onClose }: AsideDialogProps) {
  const [, navigate] = useLocation();
  const [question, setQuestion] = useState("");
  const [asked, setAsked] = useState<string | null>(null);
  const [over, setOver] = useState(false);
  const form = useSubmit(
    () => askAside(session.id, { prompt: question }),
    ({ sessionId }) => setAsked(sessionId),
  );
  const submit = () => {
    if (question.trim()) form.submit();
    else form.refuse("prompt", "Ask something.");
  };
  const close = () => {
    if (asked && !over)
      toast("The answer will appear in the transcript.", {
        action: { label: "Open the aside", run: () => navigate(routes.session(asked)) },
      });
    onClose();
  };
  if (asked)
    return (
      <Dialog
        open
        onClose={close}
        title="Asked aside"
        description="The answer also stays in the transcript of the session."
        footer={
          <>
            <Button
              onClick={() => {
                onClose();
                navigate(routes.session(asked));
              }}
            >
              Open the aside
            </Button>
            <Button look="primary" onClick={close} ref={focusOnce}>
              Close
            </Button>
          </>
        }
      >
        <AsideAnswer sessionId={asked} question={question} onOver={() => setOver(true)} />
      </Dialog>
    );
  return (
    <Dialog
      open
      onClose={close}
      title="Ask aside"
      description={`One question to “${nameOf(session)}”, beside whatever it does. It may read, but nothing is changed, and its own conversation goes on as if you had not asked.`}
      onSubmit={submit}
      footer={
        <Footer busy={form.busy} onClose={close}>
          Ask
        </Footer>
      }
    >
      <SubmitKeys onSubmit={submit}>
        <FormProblem of={form} />
        <PromptPart
          label="Question"
          hint="The answer is shown here and in the transcript."
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
