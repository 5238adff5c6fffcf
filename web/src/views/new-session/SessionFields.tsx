/** The fields of a session that is to be opened: what it does and where on one side, who does it and how freely on the
 * other. */
import type { Repo, Session } from "@/api/types";
import { Field, Input, Switch } from "@/ui/controls/Field";
import { AgentPicker } from "@/views/forms/fields/AgentPicker";
import { CallbackPart } from "@/views/forms/fields/CallbackFields";
import { type Offer, PlacePicker } from "@/views/forms/fields/DirectoryPicker";
import { ModePicker } from "@/views/forms/fields/ModePicker";
import { More } from "@/views/forms/fields/MoreFields";
import { PromptPart } from "@/views/forms/fields/PromptField";
import { RepoPicker } from "@/views/forms/fields/RepoPicker";
import { Fold, Part } from "@/views/forms/layout/FormParts";
import parts from "@/views/forms/layout/form.module.css";
import type { Submitting } from "@/views/forms/layout/useSubmit";
import { type Draft, defaultMode } from "@/views/forms/state/draft";
import type { Asked } from "./proposal";

export function SessionFields({
  draft,
  set,
  of,
  repos,
  repoId,
  onRepo,
  offers,
  asked,
  from,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  of: Submitting;
  repos: Repo[];
  repoId: string | null;
  onRepo: (repoId: string) => void;
  offers: readonly Offer[];
  /** Of a proposal: what of it can be changed. */
  asked?: Asked;
  /** Of a proposal: the session that proposes. */
  from?: Session;
}) {
  const mode = draft.mode ?? defaultMode(draft.agent);
  return (
    <>
      <div className={parts.stack}>
        <PromptPart
          label={asked ? "Prompt" : "What should be done?"}
          hint={asked ? undefined : "The first prompt. Without one, the session opens and waits for you."}
          value={draft.prompt}
          onChange={(prompt) => set({ prompt })}
          files={asked ? undefined : draft.files}
          onFiles={(files) => set({ files })}
          error={of.at("prompt")}
          rows={6}
          focus={!asked}
        />
        {(!asked || asked.title) && (
          <Field label="Title" hint="Left empty, the agent or the prompt gives one." error={of.at("title")}>
            <Input value={draft.title} onChange={(event) => set({ title: event.target.value })} />
          </Field>
        )}
        {(!asked || asked.repo) && (
          <RepoPicker repos={repos} value={repoId} onChange={onRepo} error={of.at("repo")} />
        )}
        {repoId && offers.length > 0 && (
          <Part label="Where it works" error={of.at("place")}>
            <PlacePicker
              repoId={repoId}
              value={draft.place}
              onChange={(place) => set({ place })}
              offers={offers}
              from={offers.includes("same") ? from : undefined}
            />
          </Part>
        )}
        {asked?.callback === "switch" && (
          <Switch
            label="Report back"
            hint="The session that proposes this is told when a task is over."
            checked={draft.callback.enabled}
            onChange={(enabled) => set({ callback: { ...draft.callback, enabled } })}
          />
        )}
        {asked?.callback === "all" && (
          <Fold label="Report" value={draft.callback.enabled ? "Reports back" : "Does not report back"}>
            <CallbackPart
              value={draft.callback}
              onChange={(callback) => set({ callback })}
              parent="the session that proposes it"
            />
          </Fold>
        )}
        {(!asked || asked.model || asked.mcp || asked.files) && (
          <More
            draft={draft}
            set={set}
            of={of}
            shows={asked}
            from={asked?.callback === "all" ? from : undefined}
          />
        )}
      </div>
      {(!asked || asked.agent) && (
        <div className={parts.stack}>
          <Part label="Agent" error={of.at("agent")}>
            <AgentPicker value={draft.agent} onChange={(agent) => set({ agent, model: "", effort: "" })} />
          </Part>
          <Part
            label="Mode"
            hint="How much it may do without asking you. You can change it at any time."
            error={of.at("mode")}
          >
            <ModePicker value={mode} onChange={(next) => set({ mode: next })} agent={draft.agent} />
          </Part>
        </div>
      )}
    </>
  );
}
