/** Building blocks of forms: a named section, a folded one that shows its value, a radio row. */
import { ChevronRight } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import css from "./form.module.css";

export function FormSection({
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
      <FieldError text={error} />
    </fieldset>
  );
}

export const FieldError = ({ text }: { text?: string | null }) =>
  text ? (
    <p className={css.wrong} role="alert">
      {text}
    </p>
  ) : null;

/** A section that shows its value while folded, and opens when something in it is wrong. */
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
  /** Mounts the content when it is first opened, because it sends many requests. */
  lazy?: boolean;
  children: ReactNode;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  const id = useId();
  const [opened, setOpened] = useState(!lazy);
  useEffect(() => {
    if (wrong && details.current) details.current.open = true;
  }, [wrong]);
  return (
    <details className={css.fold} ref={details} onToggle={() => setOpened(true)}>
      <summary className={css.summary} id={id}>
        <ChevronRight aria-hidden className={css.chevron} />
        <span className={css.legend}>{label}</span>
        <span className={css.value}>{value}</span>
      </summary>
      <div className={css.inside}>{opened && children}</div>
    </details>
  );
}

/** A radio button as a row with a title and a description. */
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
