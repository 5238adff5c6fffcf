/** Starting a race: one prompt to several branches of a session, each in a worktree of its own; one is kept later. */
import { useId, useState } from "react";
import { useLocation } from "wouter";
import { startRace } from "@/api/actions";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { modeName, nameOf } from "@/lib/words";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input } from "@/ui/controls/Field";
import { PromptPart } from "@/views/forms/fields/PromptField";
import { Footer } from "@/views/forms/layout/DialogButtons";
import { Choice, Part } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { rememberModel } from "@/views/forms/state/lastChoices";
import { type Contender, Contenders, contender } from "./Racers";

export interface RaceDialogProps {
  session: Session;
  open: boolean;
  onClose: () => void;
}

export function RaceDialog(props: RaceDialogProps) {
  return props.open ? <RaceForm {...props} /> : null;
}

const FIELDS = ["prompt", "title", "agent", "model", "effort"] as const;

function RaceForm({ session, onClose }: RaceDialogProps) {
  const [, navigate] = useLocation();
  const kindName = useId();
  const [prompt, setPrompt] = useState("");
  const [title, setTitle] = useState("");
  const [kind, setKind] = useState<"fork" | "spawn">("fork");
  const [who, setWho] = useState<Contender[]>(() => [
    contender(session.agent, session.model ?? "", session.effort ?? ""),
    contender(session.agent),
  ]);
  const form = useSubmit(
    () =>
      startRace(session.id, {
        prompt,
        title: title.trim() || undefined,
        kind,
        contenders: who.map(({ agent, model, effort }) => ({
          agent: agent === session.agent ? undefined : agent,
          model: model.trim() || undefined,
          effort: effort.trim() || undefined,
        })),
      }),
    ({ raceId }) => {
      for (const one of who) rememberModel(one.agent, one.model);
      onClose();
      navigate(routes.race(raceId));
    },
    FIELDS,
  );
  const submit = () => {
    if (prompt.trim()) form.submit();
    else form.refuse("prompt", "Say what all of them are to do.");
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Start a race"
      description={`The same prompt goes to several branches of “${nameOf(session)}”. Each works in a worktree of its own that begins with the same files. You compare them, and keep one.`}
      onSubmit={submit}
      footer={
        <Footer busy={form.busy} onClose={onClose}>
          Start
        </Footer>
      }
    >
      <SubmitKeys onSubmit={submit}>
        <FormProblem of={form} />
        <PromptPart label="Prompt" value={prompt} onChange={setPrompt} error={form.at("prompt")} />
        <Part
          label="Contenders"
          hint={`All of them work in the mode of this session: ${modeName(session.permissionMode)}.`}
          error={form.at("agent") ?? form.at("model") ?? form.at("effort")}
        >
          <Contenders value={who} onChange={setWho} from={session} />
        </Part>
        <Part label="What they know">
          <div className={css.choices}>
            <Choice
              name={kindName}
              checked={kind === "fork"}
              onChoose={() => setKind("fork")}
              title="The conversation so far"
            >
              Each is a fork of this session.
            </Choice>
            <Choice
              name={kindName}
              checked={kind === "spawn"}
              onChoose={() => setKind("spawn")}
              title="Only the prompt"
            >
              Each is a child that begins afresh.
            </Choice>
          </div>
        </Part>
        <Field label="Title" hint="Names the race. May be left empty." error={form.at("title")}>
          <Input value={title} onChange={(event) => setTitle(event.target.value)} />
        </Field>
      </SubmitKeys>
    </Dialog>
  );
}
