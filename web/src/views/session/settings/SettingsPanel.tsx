/** The form with a session's settings. Changes are saved together and take effect with the next prompt. */
import { useState } from "react";
import { patchSession } from "@/api/actions";
import type { Session } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Select, TextArea } from "@/ui/controls/Field";
import { CallbackPart } from "@/views/forms/fields/CallbackFields";
import { ModePicker } from "@/views/forms/fields/ModePicker";
import { AgentOptionField } from "./AgentOptionField";
import { BudgetForm } from "./BudgetForm";
import { EnvFields } from "./EnvFields";
import { McpFields } from "./McpFields";
import css from "./Settings.module.css";
import { draftOf, patchOf, type SettingsDraft } from "./settingsDraft";

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
          <AgentOptionField
            session={session}
            option="model"
            value={draft.model}
            onChange={(model) => set({ model })}
          />
          <AgentOptionField
            session={session}
            option="effort"
            value={draft.effort}
            onChange={(effort) => set({ effort })}
          />
          <Field label="If nobody answers" hint="Applies to approvals that get no answer in time.">
            <Select
              value={draft.headless}
              onChange={(event) => set({ headless: event.target.value as SettingsDraft["headless"] })}
            >
              <option value="">Server default</option>
              <option value="wait">Keep waiting</option>
              <option value="deny">Deny after a timeout</option>
              <option value="allow">Allow after a timeout</option>
            </Select>
          </Field>
        </section>
        <McpFields chosen={draft.mcpServerIds} onChange={(mcpServerIds) => set({ mcpServerIds })} />
        <EnvFields env={draft.env} onChange={(env) => set({ env })} />
        <section className={css.part}>
          <Field label="Context files" hint="One path per line, attached to the next prompt only.">
            <TextArea
              value={draft.contextFiles}
              rows={2}
              spellCheck={false}
              onChange={(event) => set({ contextFiles: event.target.value })}
            />
          </Field>
        </section>
        {session.parentSessionId && (
          <section className={css.part}>
            <h2 className={css.head}>Callback</h2>
            <CallbackPart
              value={draft.callback}
              parent="the parent"
              onChange={(callback) => set({ callback })}
            />
          </section>
        )}
        <div className={css.save} role="status">
          {error && <p className={css.error}>{error}</p>}
          {(isDirty || busy) && (
            <div className={css.row}>
              <Button type="submit" look="primary" busy={busy}>
                Save
              </Button>
              <Button look="quiet" disabled={busy} onClick={() => setEdits({})}>
                Discard
              </Button>
            </div>
          )}
          {saved && !isDirty && <p className={css.saved}>Saved. Takes effect with the next prompt.</p>}
        </div>
      </form>
      {session.kind === "root" && <BudgetForm sessionId={session.id} />}
      <Facts session={session} />
    </div>
  );
}

const Facts = ({ session }: { session: Session }) => (
  <section className={css.part}>
    <h2 className={css.head}>About</h2>
    <dl className={css.facts}>
      <dt>Folder</dt>
      <dd>
        <code>{session.cwd}</code>
      </dd>
      <dt>ID</dt>
      <dd>
        <code>{session.id}</code>
      </dd>
      <dt>Created</dt>
      <dd>{new Date(session.createdAt).toLocaleString()}</dd>
    </dl>
  </section>
);
