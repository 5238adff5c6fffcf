/** Small controls in a row: a rounded frame with an icon around a select or an input. */
import type { ComponentProps, ReactNode } from "react";
import css from "./Chip.module.css";

export const Chip = ({
  icon,
  children,
  danger,
}: {
  icon: ReactNode;
  children: ReactNode;
  danger?: boolean;
}) => (
  <span className={`${css.chip} ${danger ? css.danger : ""}`}>
    {icon}
    {children}
  </span>
);

export const ChipInput = (props: ComponentProps<"input">) => (
  <input autoCapitalize="none" autoComplete="off" spellCheck={false} {...props} className={css.input} />
);

export function ChipSelect({
  icon,
  label,
  danger,
  ...rest
}: { icon: ReactNode; label: string; danger?: boolean } & ComponentProps<"select">) {
  return (
    <Chip icon={icon} danger={danger}>
      <select className={css.select} aria-label={label} {...rest} />
    </Chip>
  );
}

/** A select without a frame, for a chip that also has an input. */
export const BareSelect = (props: ComponentProps<"select">) => <select {...props} className={css.select} />;
