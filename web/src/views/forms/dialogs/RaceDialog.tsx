/** Starts a race: one prompt to several forks or children, each in its own worktree; you keep one of the results. */
import { useId, useState } from "react";
import { useLocation } from "wouter";
import { startRace } from "@/api/actions";
import type { Session } from "@/api/types";
import { routes } from "@/app/routes";
import { modeName, sessionName } from "@/lib/words";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input } from "@/ui/controls/Field";
import { PromptField } from "@/views/forms/fields/PromptField";
import { DialogButtons } from "@/views/forms/layout/DialogButtons";
import { Choice, FormSection } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { rememberModel } from "@/views/forms/state/lastChoices";
import { newRacer, type Racer, Racers } from "./Racers";

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
  const [racers, setRacers] = useState<Racer[]>(() => [
    newRacer(session.agent, session.model ?? "", session.effort ?? ""),
    newRacer(session.agent),
  ]);
  const form = useSubmit(
    () =>
      startRace(session.id, {
        prompt,
        title: title.trim() || undefined,
        kind,
        contenders: racers.map(({ preset, agent, model, effort }) => ({
          preset: preset || undefined,
          agent: preset || agent === session.agent ? undefined : agent,
          model: model.trim() || undefined,
          effort: effort.trim() || undefined,
        })),
      }),
    ({ raceId }) => {
      for (const racer of racers) rememberModel(racer.agent, racer.model);
      onClose();
      navigate(routes.race(raceId));
    },
    FIELDS,
  );
  const submit = () => {
    if (prompt.trim()) form.submit();
    else form.refuse("prompt", "Enter a prompt for all racers.");
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Start a race"
      description={`Sends one prompt to several sessions, each in its own worktree with the files of “${sessionName(session)}”. Compare the results and keep one.`}
      onSubmit={submit}
      footer={
        <DialogButtons busy={form.busy} onClose={onClose}>
          Start
        </DialogButtons>
      }
    >
      <SubmitKeys onSubmit={submit}>
        <FormProblem of={form} />
        <PromptField label="Prompt" value={prompt} onChange={setPrompt} error={form.at("prompt")} />
        <FormSection
          label="Racers"
          hint={`All use this session's mode, ${modeName(session.permissionMode)}, unless their preset has one.`}
          error={form.at("agent") ?? form.at("model") ?? form.at("effort")}
        >
          <Racers value={racers} onChange={setRacers} from={session} />
        </FormSection>
        <FormSection label="Context">
          <div className={css.choices}>
            <Choice
              name={kindName}
              checked={kind === "fork"}
              onChoose={() => setKind("fork")}
              title="This conversation"
            >
              Each racer is a fork of this session.
            </Choice>
            <Choice
              name={kindName}
              checked={kind === "spawn"}
              onChoose={() => setKind("spawn")}
              title="Prompt only"
            >
              Each racer is a child that starts with no context.
            </Choice>
          </div>
        </FormSection>
        <Field label="Title" hint="Optional" error={form.at("title")}>
          <Input value={title} onChange={(event) => setTitle(event.target.value)} />
        </Field>
      </SubmitKeys>
    </Dialog>
  );
}
