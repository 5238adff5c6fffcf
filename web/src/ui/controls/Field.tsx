/** Form fields: inputs with a label, a hint and an error message. */
import { Switch as BaseSwitch } from "radix-ui";
import { type ComponentProps, cloneElement, type ReactElement, type ReactNode, useId } from "react";
import css from "./Field.module.css";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | null;
  children: ReactElement<{ id?: string; "aria-describedby"?: string; "aria-invalid"?: boolean }>;
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId();
  const aboutId = error || hint ? `${id}-about` : undefined;
  return (
    <div className={css.field}>
      <label className={css.label} htmlFor={id}>
        {label}
      </label>
      {cloneElement(children, { id, "aria-describedby": aboutId, "aria-invalid": error ? true : undefined })}
      {aboutId && (
        <div id={aboutId} className={error ? css.error : css.hint} role={error ? "alert" : undefined}>
          {error || hint}
        </div>
      )}
    </div>
  );
}

export const Input = ({ className = "", ...rest }: ComponentProps<"input">) => (
  <input {...rest} className={`${css.input} ${className}`} />
);

export const TextArea = ({ className = "", ...rest }: ComponentProps<"textarea">) => (
  <textarea {...rest} className={`${css.input} ${css.area} ${className}`} />
);

export const Select = ({ className = "", ...rest }: ComponentProps<"select">) => (
  <select {...rest} className={`${css.input} ${css.select} ${className}`} />
);

export function Switch({
  label,
  hint,
  checked,
  onChange,
  disabled,
}: {
  label: string;
  hint?: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}) {
  const id = useId();
  return (
    <div className={css.switchRow}>
      <div>
        <label htmlFor={id} className={css.label}>
          {label}
        </label>
        {hint && (
          <div id={`${id}-about`} className={css.hint}>
            {hint}
          </div>
        )}
      </div>
      <BaseSwitch.Root
        id={id}
        className={css.switch}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        aria-describedby={hint ? `${id}-about` : undefined}
      >
        <BaseSwitch.Thumb className={css.thumb} />
      </BaseSwitch.Root>
    </div>
  );
}
