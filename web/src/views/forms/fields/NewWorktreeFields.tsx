/** A worktree that is to be made: its branch, what it begins with, where it will lie, and what stands in the way. */
import { useId } from "react";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Switch } from "@/ui/controls/Field";
import css from "@/views/forms/layout/form.module.css";
import type { Place } from "@/views/forms/state/draft";
import { previewWords, usePreview } from "@/views/forms/state/worktreePreview";
import own from "./NewWorktreeFields.module.css";

export type New = Extract<Place, { kind: "new" }>;

const TONES = { path: css.mono, plain: css.hint, bad: own.bad };

export function NewPlace({
  place,
  onChange,
  repoId,
  branching,
  bases = [],
  takesIgnored = false,
}: {
  place: New;
  onChange: (place: New) => void;
  repoId: string;
  /** Of a session: it begins with the session's files, and the branch may be left to Bough. */
  branching: boolean;
  bases?: string[];
  takesIgnored?: boolean;
}) {
  const list = useId();
  const previewed = usePreview(repoId, place.branch, place.path, place.base);
  const told = previewWords(place.branch, previewed, branching);
  return (
    <div className={css.inside}>
      <Field
        label="Branch"
        hint={branching ? "May be left empty." : "One that exists is reused, a new one is made."}
      >
        <Input
          value={place.branch}
          onChange={(event) => onChange({ ...place, branch: event.target.value })}
          placeholder="feature/login"
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
        />
      </Field>
      <output
        className={own.preview}
        aria-live="polite"
        aria-busy={previewed.waiting}
        data-testid="path-preview"
      >
        {told.lines.map((line) => (
          <span key={line.text} className={TONES[line.tone]}>
            {line.text}
          </span>
        ))}
        {told.suggestion && (
          <span className={css.row}>
            <Button size="small" onClick={() => onChange({ ...place, branch: told.suggestion! })}>
              Use {told.suggestion}
            </Button>
          </span>
        )}
      </output>
      <div className={css.pair}>
        {!branching && (
          <Field label="Begins with" hint="For a new branch; else the default one.">
            <Input
              value={place.base}
              onChange={(event) => onChange({ ...place, base: event.target.value })}
              placeholder={bases[0] ?? "main"}
              list={list}
              autoCapitalize="none"
              spellCheck={false}
            />
          </Field>
        )}
        <Field label="Folder" hint="Empty: beside its other worktrees.">
          <Input
            value={place.path}
            onChange={(event) => onChange({ ...place, path: event.target.value })}
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
          hint="Such as build results and local settings."
          checked={place.ignored}
          onChange={(ignored) => onChange({ ...place, ignored })}
        />
      )}
    </div>
  );
}
