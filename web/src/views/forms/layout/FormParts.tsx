/** A part of a form: a group with a name, or one that is folded and shows what is chosen. */
import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import css from "./form.module.css";

export function Part({
  label,
  hint,
  error,
  children,
}: {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  children: ReactNode;
}) {
  return (
    <fieldset className={css.part}>
      <legend className={css.legend}>{label}</legend>
      {hint && <p className={css.hint}>{hint}</p>}
      {children}
      <Wrong text={error} />
    </fieldset>
  );
}

export const Wrong = ({ text }: { text?: string | null }) =>
  text ? (
    <p className={css.wrong} role="alert">
      {text}
    </p>
  ) : null;

/** Folded, it tells its value; it opens by itself when something in it is wrong. */
export function Fold({
  label,
  value,
  wrong = false,
  lazy = false,
  children,
}: {
  label: string;
  value?: ReactNode;
  wrong?: boolean;
  /** What is in it asks the server much, and only when somebody looks. */
  lazy?: boolean;
  children: ReactNode;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  const id = useId();
  const [looked, setLooked] = useState(!lazy);
  useEffect(() => {
    if (wrong && details.current) details.current.open = true;
  }, [wrong]);
  return (
    <details className={css.fold} ref={details} onToggle={() => setLooked(true)}>
      <summary className={css.summary} id={id}>
        <ChevronRight aria-hidden className={css.chevron} />
        <span className={css.legend}>{label}</span>
        <span className={css.value}>{value}</span>
      </summary>
      <div className={css.inside}>{looked && children}</div>
    </details>
  );
}

/** One of several, as a row to choose. */
export function Choice({
  name,
  checked,
  onChoose,
  disabled,
  title,
  marks,
  children,
  mark,
}: {
  name: string;
  checked: boolean;
  onChoose: () => void;
  disabled?: boolean;
  title: ReactNode;
  marks?: ReactNode;
  mark?: ReactNode;
  children?: ReactNode;
}) {
  const id = useId();
  return (
    <label className={`${css.choice} ${disabled ? css.off : ""}`}>
      <input
        type="radio"
        className={css.radio}
        name={name}
        checked={checked}
        onChange={onChoose}
        disabled={disabled}
        aria-labelledby={`${id}-title`}
        aria-describedby={children ? `${id}-about` : undefined}
      />
      {mark}
      <span className={css.choiceText}>
        <span className={css.choiceTitle}>
          <span id={`${id}-title`}>{title}</span>
          {marks}
        </span>
        {children && (
          <span id={`${id}-about`} className={css.choiceAbout}>
            {children}
          </span>
        )}
      </span>
    </label>
  );
}
