/** A choice among a few options, as radio buttons. */
import { useId } from "react";
import css from "./Dialogs.module.css";

export function RadioChoice<T extends string>({
  label,
  value,
  onChange,
  options,
}: {
  label: string;
  value: T;
  onChange: (value: T) => void;
  options: { value: T; label: string; hint?: string }[];
}) {
  const name = useId();
  return (
    <fieldset className={css.choice}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            checked={value === option.value}
            onChange={() => onChange(option.value)}
          />
          <span>
            {option.label}
            {option.hint && <span className={css.hint}> {option.hint}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
