/** Asks how to commit, update, merge or push, shows what will happen before it does, and offers conflicts to the agent. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type FinishBody, finishWork, runRequest } from "@/api/actions";
import { finishPreviewQuery } from "@/api/queries";
import type { FinishState } from "@/api/types";
import { plural } from "@/lib/format";
import { withoutFields } from "@/lib/refusals";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Switch, TextArea } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import css from "./FinishDialog.module.css";

export type FinishVerb = "commit" | "update" | "merge" | "push" | "undo";

const TITLES: Record<FinishVerb, (state: FinishState) => string> = {
  commit: (state) => `Commit to ${state.branch ?? "this worktree"}`,
  update: (state) => `Update ${state.branch} from ${state.base}`,
  merge: (state) => `Merge ${state.branch} into ${state.base}`,
  push: (state) => `Push ${state.branch}`,
  undo: (state) => `Undo the merge into ${state.lastMerge?.branch}`,
};
const BUTTONS: Record<FinishVerb, string> = {
  commit: "Commit",
  update: "Update",
  merge: "Merge",
  push: "Push",
  undo: "Undo merge",
};
const DONE: Record<FinishVerb, string> = {
  commit: "Committed.",
  update: "Updated.",
  merge: "Merged.",
  push: "Pushed.",
  undo: "Merge undone.",
};
const UPDATES = [
  { how: "merge", name: "Merge", words: "Adds a merge commit." },
  { how: "rebase", name: "Rebase", words: "Puts its commits on top of the base again." },
] as const;
const MERGES = [
  { how: "merge", name: "Merge commit", words: "Keeps all commits and adds a merge commit." },
  { how: "squash", name: "Squash", words: "Adds everything as one commit." },
  { how: "ff", name: "Fast-forward only", words: "Adds no commit; refused if the base has moved on." },
] as const;

export function FinishDialog({
  verb,
  state,
  onClose,
}: {
  verb: FinishVerb;
  state: FinishState;
  onClose: () => void;
}) {
  const client = useQueryClient();
  const [update, setUpdate] = useState<"merge" | "rebase">("merge");
  const [merge, setMerge] = useState<"merge" | "squash" | "ff">("merge");
  const [message, setMessage] = useState(state.proposed.message);
  const [files, setFiles] = useState(() => new Set(state.files.map((file) => file.path)));
  const [flag, setFlag] = useState(false);
  const [busy, setBusy] = useState(false);
  // The changed files are listed again while the dialog is open; those that came later are not chosen.
  const chosen = state.files.flatMap(({ path }) => (files.has(path) ? [path] : []));
  const isAll = chosen.length === state.files.length;
  const isNone = verb === "commit" && chosen.length === 0 && state.files.length > 0;
  // What this dialog shows; the server refuses if it has changed meanwhile.
  const [seen] = useState({ expectedHead: state.sha, expectedBranch: state.branch ?? "" });

  const body = (): FinishBody => {
    // Only if more files have changed than are listed, "all" is more than the list.
    if (verb === "commit")
      return {
        verb,
        body: { ...seen, message, files: isAll && state.filesTotal > chosen.length ? null : chosen },
      };
    if (verb === "update") return { verb, body: { ...seen, how: update, fetch: flag } };
    if (verb === "merge")
      return {
        verb,
        body: { ...seen, how: merge, into: state.base, message: merge === "squash" ? message : null },
      };
    return verb === "push"
      ? { verb, body: { ...seen, rewrite: flag, expectedAddress: state.remote.address } }
      : { verb, body: {} };
  };
  const request = body();
  // The message changes nothing in the preview, which would flicker with every letter.
  const preview = useQuery(
    finishPreviewQuery(state.worktreeId, {
      ...request,
      body: { ...request.body, message: undefined },
    } as FinishBody),
  );
  const needsMessage = verb === "commit" || (verb === "merge" && merge === "squash");
  const refusal = preview.data?.refusal ?? null;
  const conflicts = preview.data?.conflicts ?? [];
  const isReady =
    preview.data !== undefined &&
    refusal === null &&
    !isNone &&
    !preview.isFetching &&
    (!needsMessage || message.trim() !== "");

  const send = async (chosen: FinishBody, words: string) => {
    setBusy(true);
    const done = await runRequest(() => finishWork(state.worktreeId, chosen, false));
    setBusy(false);
    void client.invalidateQueries({ queryKey: ["finish", state.worktreeId] });
    if (!done) return void preview.refetch();
    toast(words);
    onClose();
  };
  const handOver = () =>
    void send(
      { verb: "update", body: { ...seen, how: update, fetch: flag, onConflict: "agent" } },
      "Handed to the agent.",
    );
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => isReady && void send(request, DONE[verb])}
      title={TITLES[verb](state)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {verb === "update" && conflicts.length > 0 && (
            <Button variant="primary" busy={busy} onClick={handOver}>
              Let the agent resolve it
            </Button>
          )}
          {!(verb === "update" && conflicts.length > 0) && (
            <Button type="submit" variant="primary" busy={busy} disabled={!isReady}>
              {BUTTONS[verb]}
            </Button>
          )}
        </>
      }
    >
      {needsMessage && (
        <Field label="Message">
          <TextArea rows={5} value={message} onChange={(event) => setMessage(event.target.value)} />
        </Field>
      )}
      {verb === "commit" && <Files state={state} chosen={new Set(chosen)} onChange={setFiles} />}
      {verb === "update" && <Ways legend="How to update" ways={UPDATES} how={update} onChange={setUpdate} />}
      {verb === "update" && state.remote.name && (
        <Switch label={`Fetch from ${state.remote.name} first`} checked={flag} onChange={setFlag} />
      )}
      {verb === "merge" && <Ways legend="How to merge" ways={MERGES} how={merge} onChange={setMerge} />}
      {verb === "push" && (
        <Switch
          label="Replace commits on the remote"
          hint="After a rebase. Commits that somebody else pushed since are never replaced."
          checked={flag}
          onChange={setFlag}
        />
      )}
      <section className={css.preview} aria-label="Preview" aria-live="polite">
        {isNone ? (
          <p className={css.refused}>Choose at least one file.</p>
        ) : (
          <QueryResult query={preview}>
            {({ refusal: reason, steps = [], files: touched = [], filesTotal = 0 }) =>
              reason ? (
                <>
                  <p className={css.refused}>{withoutFields(reason.message)}</p>
                  {conflicts.length > 0 && <Names names={conflicts} />}
                </>
              ) : (
                <>
                  <ul className={css.steps}>
                    {steps.map((step) => (
                      <li key={step}>{step}</li>
                    ))}
                  </ul>
                  {verb !== "commit" && touched.length > 0 && (
                    <details>
                      <summary>{plural(filesTotal, "file")}</summary>
                      <Names names={touched} />
                    </details>
                  )}
                </>
              )
            }
          </QueryResult>
        )}
      </section>
    </Dialog>
  );
}

function Names({ names }: { names: string[] }) {
  return (
    <ul className={css.names}>
      {names.map((name) => (
        <li key={name}>{name}</li>
      ))}
    </ul>
  );
}

function Ways<T extends string>({
  legend,
  ways,
  how,
  onChange,
}: {
  legend: string;
  ways: readonly { how: T; name: string; words: string }[];
  how: T;
  onChange: (how: T) => void;
}) {
  return (
    <fieldset className={css.ways}>
      <legend className={css.legend}>{legend}</legend>
      {ways.map((way) => (
        <label key={way.how} className={css.way}>
          <input type="radio" name="how" checked={how === way.how} onChange={() => onChange(way.how)} />
          <span>
            <strong>{way.name}</strong> <span className={css.soft}>{way.words}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** The files to commit, each with a check box. */
function Files({
  state,
  chosen,
  onChange,
}: {
  state: FinishState;
  chosen: Set<string>;
  onChange: (chosen: Set<string>) => void;
}) {
  const toggle = (path: string) => {
    const next = new Set(chosen);
    if (!next.delete(path)) next.add(path);
    onChange(next);
  };
  return (
    <fieldset className={css.ways}>
      <legend className={css.legend}>
        {chosen.size} of {plural(state.files.length, "file")}
      </legend>
      <div className={css.files}>
        {state.files.map((file) => (
          <label key={file.path} className={css.file}>
            <input type="checkbox" checked={chosen.has(file.path)} onChange={() => toggle(file.path)} />
            <span className={css.path}>{file.path}</span>
            <span className={css.soft}>{file.status}</span>
          </label>
        ))}
      </div>
      {state.filesTotal > state.files.length && (
        <p className={css.soft}>
          {state.filesTotal - state.files.length} more are committed only if all of these are chosen.
        </p>
      )}
    </fieldset>
  );
}
