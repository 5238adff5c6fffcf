/** The fields of a new session: prompt and working directory in one column, agent and mode in the other. */
import { useAgents } from "@/api/queries";
import type { Repo, Session } from "@/api/types";
import { Field, Input, Switch } from "@/ui/controls/Field";
import { AdvancedFields } from "@/views/forms/fields/AdvancedFields";
import { AgentPicker } from "@/views/forms/fields/AgentPicker";
import { CallbackFields } from "@/views/forms/fields/CallbackFields";
import { type DirectoryKind, DirectoryPicker } from "@/views/forms/fields/DirectoryPicker";
import { OfferedCommands } from "@/views/forms/fields/OfferedCommands";
import { PresetSelect } from "@/views/forms/fields/PresetSelect";
import { PromptField } from "@/views/forms/fields/PromptField";
import { ModePicker } from "@/views/forms/fields/permissions/ModePicker";
import { RepoPicker } from "@/views/forms/fields/RepoPicker";
import { Fold, FormSection } from "@/views/forms/layout/FormParts";
import parts from "@/views/forms/layout/form.module.css";
import type { FormSubmission } from "@/views/forms/layout/useSubmit";
import { type Draft, defaultMode } from "@/views/forms/state/draft";
import type { ProposalFields } from "./proposal";

export function SessionFields({
  draft,
  set,
  of,
  repos,
  repoId,
  onRepo,
  directories,
  proposal,
  from,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  of: FormSubmission;
  repos: Repo[];
  repoId: string | null;
  onRepo: (repoId: string) => void;
  directories: readonly DirectoryKind[];
  /** For a proposal: the fields that can be changed. */
  proposal?: ProposalFields;
  /** For a proposal: the session that proposes. */
  from?: Session;
}) {
  const agents = useAgents().data;
  const mode = draft.mode ?? defaultMode(agents, draft.agent);
  return (
    <>
      <div className={parts.stack}>
        <PromptField
          label={proposal ? "Prompt" : "What should the agent do?"}
          hint={proposal ? undefined : "Optional. The session's first prompt."}
          value={draft.prompt}
          onChange={(prompt) => set({ prompt })}
          files={proposal ? undefined : draft.files}
          onFiles={(files) => set({ files })}
          error={of.at("prompt")}
          rows={6}
          focus={!proposal}
        />
        {!proposal && (
          <OfferedCommands agent={draft.agent} prompt={draft.prompt} onPick={(prompt) => set({ prompt })} />
        )}
        {(!proposal || proposal.title) && (
          <Field label="Title" hint="Optional. Generated from the prompt." error={of.at("title")}>
            <Input value={draft.title} onChange={(event) => set({ title: event.target.value })} />
          </Field>
        )}
        {(!proposal || proposal.repo) && (
          <RepoPicker repos={repos} value={repoId} onChange={onRepo} error={of.at("repo")} />
        )}
        {repoId && directories.length > 0 && (
          <FormSection label="Working directory" error={of.at("directory")}>
            <DirectoryPicker
              repoId={repoId}
              value={draft.directory}
              onChange={(directory) => set({ directory })}
              offers={directories}
              from={directories.includes("same") ? from : undefined}
            />
          </FormSection>
        )}
        {proposal?.callback === "switch" && (
          <Switch
            label="Report back"
            hint="Sends a report to the proposing session after each turn."
            checked={draft.callback.enabled}
            onChange={(enabled) => set({ callback: { ...draft.callback, enabled } })}
          />
        )}
        {proposal?.callback === "all" && (
          <Fold label="Report" value={draft.callback.enabled ? "Reports back" : "No report"}>
            <CallbackFields
              value={draft.callback}
              onChange={(callback) => set({ callback })}
              parent="the proposing session"
            />
          </Fold>
        )}
        {(!proposal || proposal.model || proposal.mcp || proposal.files) && (
          <AdvancedFields
            draft={draft}
            set={set}
            of={of}
            shows={proposal}
            from={proposal?.callback === "all" ? from : undefined}
          />
        )}
      </div>
      {(!proposal || proposal.agent) && (
        <div className={parts.stack}>
          {!proposal && <PresetSelect draft={draft} set={set} error={of.at("preset")} />}
          <FormSection label="Agent" error={of.at("agent")}>
            <AgentPicker value={draft.agent} onChange={(agent) => set({ agent, model: "", effort: "" })} />
          </FormSection>
          <FormSection
            label="Mode"
            hint="How much the agent may do without asking. You can change it at any time."
            error={of.at("mode")}
          >
            <ModePicker value={mode} onChange={(next) => set({ mode: next })} agent={draft.agent} />
          </FormSection>
        </div>
      )}
    </>
  );
}
