/** The fields of a new worktree: branch, base branch and folder, with a preview of the result. */
import { useId } from "react";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Switch } from "@/ui/controls/Field";
import css from "@/views/forms/layout/form.module.css";
import type { WorkingDirectory } from "@/views/forms/state/draft";
import { describePreview, usePreview } from "@/views/forms/state/worktreePreview";
import fields from "./fields.module.css";

export type NewWorktree = Extract<WorkingDirectory, { kind: "new" }>;

const TONES = { path: css.mono, plain: css.hint, bad: fields.bad };

export function NewWorktreeFields({
  directory,
  onChange,
  repoId,
  branching,
  bases = [],
  takesIgnored = false,
}: {
  directory: NewWorktree;
  onChange: (directory: NewWorktree) => void;
  repoId: string;
  /** For a fork or child: it starts with the session's files, and Bough can name the branch. */
  branching: boolean;
  bases?: string[];
  takesIgnored?: boolean;
}) {
  const list = useId();
  const previewed = usePreview(repoId, directory.branch, directory.path, directory.base);
  const described = describePreview(directory.branch, previewed, branching);
  return (
    <div className={css.inside}>
      <Field label="Branch" hint={branching ? "Optional" : "Existing branches are reused."}>
        <Input
          value={directory.branch}
          onChange={(event) => onChange({ ...directory, branch: event.target.value })}
          placeholder="feature/login"
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <output
        className={fields.preview}
        aria-live="polite"
        aria-busy={previewed.waiting}
        data-testid="path-preview"
      >
        {described.lines.map((line) => (
          <span key={line.text} className={TONES[line.tone]}>
            {line.text}
          </span>
        ))}
        {described.suggestion && (
          <span className={css.row}>
            <Button size="small" onClick={() => onChange({ ...directory, branch: described.suggestion! })}>
              Use {described.suggestion}
            </Button>
          </span>
        )}
      </output>
      <div className={css.pair}>
        {!branching && (
          <Field label="Base branch" hint={`Defaults to ${bases[0] ?? "main"}.`}>
            <Input
              value={directory.base}
              onChange={(event) => onChange({ ...directory, base: event.target.value })}
              placeholder={bases[0] ?? "main"}
              list={list}
              autoCapitalize="none"
              spellCheck={false}
            />
          </Field>
        )}
        <Field label="Folder" hint="Optional. Defaults to a folder next to the other worktrees.">
          <Input
            value={directory.path}
            onChange={(event) => onChange({ ...directory, path: event.target.value })}
            placeholder=".worktrees/…"
            autoCapitalize="none"
            spellCheck={false}
          />
        </Field>
      </div>
      <datalist id={list}>
        {bases.map((base) => (
          <option key={base} value={base} />
        ))}
      </datalist>
      {takesIgnored && (
        <Switch
          label="Also copy ignored files"
          hint="For example build output and local settings."
          checked={directory.ignored}
          onChange={(ignored) => onChange({ ...directory, ignored })}
        />
      )}
    </div>
  );
}
