/** The settings of a session that are seldom changed, folded. */
import type { Session } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { FieldError, Fold, FormSection } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import type { FormSubmission } from "@/views/forms/layout/useSubmit";
import type { Draft } from "@/views/forms/state/draft";
import { ContextFilesField } from "./ContextFilesField";
import { EnvEditor } from "./EnvEditor";
import { McpServerChoices } from "./McpServerChoices";
import { ModelFields } from "./ModelFields";
import { ApprovalTimeoutField } from "./permissions/ApprovalTimeoutField";
import { SandboxProfileSelect } from "./permissions/SandboxProfileSelect";
import { SandboxSelect } from "./permissions/SandboxSelect";
import { UnattendedSelect } from "./permissions/UnattendedSelect";

export function AdvancedFields({
  draft,
  set,
  of,
  from,
  shows,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  of: FormSubmission;
  /** The session whose settings are inherited. */
  from?: Session;
  /** The fields to show; all if omitted. */
  shows?: { model: boolean; mcp: boolean; files: boolean };
}) {
  const wrong = (["model", "effort", "mcp", "env", "files"] as const).some((field) => of.at(field));
  return (
    <Fold label="More" value={shows ? undefined : "model, MCP servers, variables"} wrong={wrong}>
      {(!shows || shows.model) && (
        <ModelFields
          agent={draft.agent}
          model={draft.model}
          effort={draft.effort}
          onChange={set}
          from={from}
          errors={{ model: of.at("model"), effort: of.at("effort") }}
        />
      )}
      {(!shows || shows.mcp) && (
        <FormSection label="MCP servers">
          <McpServerChoices
            value={draft.mcpServerIds ?? from?.mcpServerIds ?? []}
            onChange={(mcpServerIds) => set({ mcpServerIds })}
          />
        </FormSection>
      )}
      <FieldError text={of.at("mcp")} />
      {!shows && (
        <FormSection label="Environment variables" error={of.at("env")}>
          {from && draft.env === null ? (
            <InheritedEnv names={Object.keys(from.env)} onReplace={() => set({ env: [] })} />
          ) : (
            <EnvEditor value={draft.env ?? []} onChange={(env) => set({ env })} />
          )}
        </FormSection>
      )}
      {(shows ? shows.files : !from) && (
        <ContextFilesField
          value={draft.contextFiles}
          onChange={(contextFiles) => set({ contextFiles })}
          error={of.at("files")}
        />
      )}
      {!shows && (
        <>
          <UnattendedSelect
            value={draft.headless}
            onChange={(headless) => set({ headless })}
            inherited={from ? "Same as this session" : undefined}
          />
          <ApprovalTimeoutField
            value={draft.approvalTimeout}
            onChange={(approvalTimeout) => set({ approvalTimeout })}
            inherited={from ? "Same as this session" : undefined}
          />
        </>
      )}
      {!shows && !from && (
        <>
          <SandboxSelect value={draft.sandbox} onChange={(sandbox) => set({ sandbox })} />
          <SandboxProfileSelect
            value={draft.sandboxProfile}
            onChange={(sandboxProfile) => set({ sandboxProfile })}
          />
        </>
      )}
    </Fold>
  );
}

function InheritedEnv({ names, onReplace }: { names: string[]; onReplace: () => void }) {
  return (
    <div className={css.row}>
      <span className={css.hint}>{names.length ? `Inherits ${names.join(", ")}.` : "None to inherit."}</span>
      <Button size="small" onClick={onReplace}>
        Replace
      </Button>
    </div>
  );
}
