/** Everything about a session that can be changed at any time: a form whose changes are saved together. */
import { useState } from "react";
import { patchSession } from "@/api/actions";
import type { Session } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Select, TextArea } from "@/ui/controls/Field";
import { OfferField } from "./AgentOptionField";
import { BudgetForm } from "./BudgetForm";
import { CallbackFields } from "./CallbackFields";
import { EnvFields } from "./EnvFields";
import { McpFields } from "./McpFields";
import { ModeField } from "./ModeField";
import css from "./Settings.module.css";
import { changes, type Draft, draftOf } from "./settingsDraft";

export function SettingsPanel({
  session,
  typed,
  setTyped,
}: {
  session: Session;
  /** Only what was touched: all else follows the session, also when another tab changes it. */
  typed: Partial<Draft>;
  setTyped: (typed: Partial<Draft>) => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const [saved, setSaved] = useState(false);
  const draft: Draft = { ...draftOf(session), ...typed };
  const patch = changes(session, draft);
  const dirty = Object.keys(patch).length > 0;
  const set = (change: Partial<Draft>) => {
    setTyped({ ...typed, ...change });
    setSaved(false);
  };
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await patchSession(session.id, patch);
      setTyped({});
      setSaved(true);
    } catch (refused) {
      setError(refused instanceof Error ? refused.message : String(refused));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className={css.panel}>
      <form
        className={css.form}
        aria-label="Settings of this session"
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
        <ModeField mode={draft.permissionMode} onChange={(permissionMode) => set({ permissionMode })} />
        <section className={css.part}>
          <OfferField
            session={session}
            which="model"
            value={draft.model}
            onChange={(model) => set({ model })}
          />
          <OfferField
            session={session}
            which="effort"
            value={draft.effort}
            onChange={(effort) => set({ effort })}
          />
          <Field label="When nobody is there" hint="What becomes of a question that nobody answers in time.">
            <Select
              value={draft.headless}
              onChange={(event) => set({ headless: event.target.value as Draft["headless"] })}
            >
              <option value="">As the server is set</option>
              <option value="wait">Wait for an answer</option>
              <option value="deny">Deny after a while</option>
              <option value="allow">Allow after a while</option>
            </Select>
          </Field>
        </section>
        <McpFields chosen={draft.mcpServerIds} onChange={(mcpServerIds) => set({ mcpServerIds })} />
        <EnvFields env={draft.env} onChange={(env) => set({ env })} />
        <section className={css.part}>
          <Field label="Context files" hint="One path a line. They go along with the next prompt, once.">
            <TextArea
              value={draft.contextFiles}
              rows={2}
              spellCheck={false}
              onChange={(event) => set({ contextFiles: event.target.value })}
            />
          </Field>
        </section>
        {session.parentSessionId && (
          <CallbackFields callback={draft.callback} onChange={(callback) => set({ callback })} />
        )}
        <div className={css.save} role="status">
          {error && <p className={css.error}>{error}</p>}
          {(dirty || busy) && (
            <div className={css.row}>
              <Button type="submit" look="primary" busy={busy}>
                Save
              </Button>
              <Button look="quiet" disabled={busy} onClick={() => setTyped({})}>
                Discard
              </Button>
            </div>
          )}
          {saved && !dirty && <p className={css.saved}>Saved. It takes effect at the next prompt.</p>}
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
      <dt>Id</dt>
      <dd>
        <code>{session.id}</code>
      </dd>
      <dt>Opened</dt>
      <dd>{new Date(session.createdAt).toLocaleString()}</dd>
    </dl>
  </section>
);
