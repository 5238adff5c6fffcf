/** The form with a session's settings. Changes are saved together and take effect with the next prompt. */
import { useState } from "react";
import { patchSession } from "@/api/actions";
import type { Session } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Field, Input, TextArea } from "@/ui/controls/Field";
import { AfterLimitSelect } from "@/views/forms/fields/AfterLimitSelect";
import { CallbackFields } from "@/views/forms/fields/CallbackFields";
import { ContextFilesField } from "@/views/forms/fields/ContextFilesField";
import { EnvEditor } from "@/views/forms/fields/EnvEditor";
import { McpServerChoices } from "@/views/forms/fields/McpServerChoices";
import { ModelFields } from "@/views/forms/fields/ModelFields";
import { ApprovalTimeoutField } from "@/views/forms/fields/permissions/ApprovalTimeoutField";
import { ModePicker } from "@/views/forms/fields/permissions/ModePicker";
import { SandboxProfileSelect } from "@/views/forms/fields/permissions/SandboxProfileSelect";
import { SandboxSelect } from "@/views/forms/fields/permissions/SandboxSelect";
import { UnattendedSelect } from "@/views/forms/fields/permissions/UnattendedSelect";
import { BudgetForm } from "./BudgetForm";
import css from "./Settings.module.css";
import { draftOf, patchOf, type SettingsDraft } from "./settingsDraft";
import { TranscriptLimitForm } from "./TranscriptLimitForm";

export function SettingsPanel({
  session,
  edits,
  setEdits,
}: {
  session: Session;
  /** Only the edited fields; the others follow the session, even when another tab changes it. */
  edits: Partial<SettingsDraft>;
  setEdits: (edits: Partial<SettingsDraft>) => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [saved, setSaved] = useState(false);
  const draft: SettingsDraft = { ...draftOf(session), ...edits };
  const patch = patchOf(session, draft);
  const isDirty = Object.keys(patch).length > 0;
  const set = (change: Partial<SettingsDraft>) => {
    setEdits({ ...edits, ...change });
    setSaved(false);
  };
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await patchSession(session.id, patch);
      setEdits({});
      setSaved(true);
    } catch (caught) {
      setError(caught instanceof Error ? caught.message : String(caught));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={css.panel}>
      <form
        className={css.form}
        aria-label="Session settings"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <section className={css.part}>
          <Field label="Title">
            <Input
              value={draft.title}
              maxLength={200}
              onChange={(event) => set({ title: event.target.value })}
            />
          </Field>
          <Field label="Description">
            <TextArea
              value={draft.description}
              rows={2}
              onChange={(event) => set({ description: event.target.value })}
            />
          </Field>
        </section>
        <fieldset className={css.part}>
          <legend className={css.head}>Mode</legend>
          <ModePicker
            value={draft.permissionMode}
            agent={session.agent}
            onChange={(permissionMode) => set({ permissionMode })}
          />
        </fieldset>
        <section className={css.part}>
          <ModelFields agent={session.agent} model={draft.model} effort={draft.effort} onChange={set} />
          <UnattendedSelect
            value={draft.headless || null}
            onChange={(headless) => set({ headless: headless ?? "" })}
          />
          <ApprovalTimeoutField
            value={draft.approvalTimeout}
            onChange={(approvalTimeout) => set({ approvalTimeout })}
          />
          <AfterLimitSelect
            value={draft.resumeAfterLimit}
            onChange={(resumeAfterLimit) => set({ resumeAfterLimit })}
          />
          <SandboxSelect value={draft.sandbox} onChange={(sandbox) => set({ sandbox })} />
          <SandboxProfileSelect
            value={draft.sandboxProfile}
            onChange={(sandboxProfile) => set({ sandboxProfile })}
          />
        </section>
        <fieldset className={css.part}>
          <legend className={css.head}>MCP servers</legend>
          <McpServerChoices value={draft.mcpServerIds} onChange={(mcpServerIds) => set({ mcpServerIds })} />
        </fieldset>
        <fieldset className={css.part}>
          <legend className={css.head}>Environment</legend>
          <p className={css.hint}>Values are secret and never shown again.</p>
          <EnvEditor value={draft.env} onChange={(env) => set({ env })} />
        </fieldset>
        <section className={css.part}>
          <ContextFilesField value={draft.contextFiles} onChange={(contextFiles) => set({ contextFiles })} />
        </section>
        {(session.parentSessionId || (session.createdBy as { kind?: string }).kind === "session") && (
          <section className={css.part}>
            <h2 className={css.head}>Callback</h2>
            <CallbackFields
              value={draft.callback}
              parent={session.parentSessionId ? "the parent" : "the session that created it"}
              onChange={(callback) => set({ callback })}
            />
          </section>
        )}
        <div className={css.save} role="status">
          {error && <p className={css.error}>{error}</p>}
          {(isDirty || busy) && (
            <div className={css.row}>
              <Button type="submit" variant="primary" busy={busy}>
                Save
              </Button>
              <Button variant="quiet" disabled={busy} onClick={() => setEdits({})}>
                Discard
              </Button>
            </div>
          )}
          {saved && !isDirty && <p className={css.saved}>Saved. Takes effect with the next prompt.</p>}
        </div>
      </form>
      {session.kind === "root" && <BudgetForm sessionId={session.id} />}
      <TranscriptLimitForm sessionId={session.id} />
      <Facts session={session} />
    </div>
  );
}

const CONFINEMENTS = {
  workspace: "Confined to its folder",
  "read-only": "Confined, read-only",
  strict: "Confined to its folder and listed hosts",
  "strict-read-only": "Confined to listed hosts, read-only",
  unconfined: "Unconfined",
};

const Facts = ({ session }: { session: Session }) => (
  <section className={css.part}>
    <h2 className={css.head}>About</h2>
    <dl className={css.facts}>
      <dt>Folder</dt>
      <dd>
        <code>{session.cwd}</code>
      </dd>
      {session.confinement && (
        <>
          <dt>Sandbox</dt>
          <dd>{CONFINEMENTS[session.confinement]}</dd>
        </>
      )}
      {session.unconfinedReason && (
        <>
          <dt>Reason</dt>
          <dd>{session.unconfinedReason}</dd>
        </>
      )}
      <dt>ID</dt>
      <dd>
        <code>{session.id}</code>
      </dd>
      <dt>Created</dt>
      <dd>{new Date(session.createdAt).toLocaleString()}</dd>
    </dl>
  </section>
);
