/** Buttons, and links that look like buttons. A busy button shows a spinner and ignores clicks. */
import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { Link } from "wouter";
import css from "./Button.module.css";
import { Tip } from "./Tip";

type Variant = "plain" | "primary" | "danger" | "quiet";

interface ButtonStyle {
  variant?: Variant;
  size?: "small" | "normal";
  icon?: ReactNode;
}

const classes = ({ variant = "plain", size = "normal" }: ButtonStyle, extra = "") =>
  `${css.button} ${css[variant]} ${size === "small" ? css.small : ""} ${extra}`;

export function Button({
  variant,
  size,
  icon,
  busy = false,
  children,
  className = "",
  ...rest
}: ButtonStyle & { busy?: boolean } & ComponentProps<"button">) {
  return (
    <button
      type="button"
      {...rest}
      className={classes({ variant, size }, className)}
      disabled={rest.disabled || busy}
      aria-busy={busy || undefined}
    >
      {busy ? <LoaderCircle className={css.spin} aria-hidden /> : icon}
      {children}
    </button>
  );
}

/** A button with only an icon; its label is its tooltip and is read out. */
export function IconButton({
  label,
  variant = "quiet",
  size,
  children,
  className = "",
  shortcut,
  ...rest
}: ButtonStyle & { label: string; shortcut?: string } & ComponentProps<"button">) {
  return (
    <Tip text={label} shortcut={shortcut}>
      <button
        type="button"
        {...rest}
        aria-label={label}
        className={classes({ variant, size }, `${css.icon} ${className}`)}
      >
        {children}
      </button>
    </Tip>
  );
}

export function ButtonLink({
  variant,
  size,
  icon,
  children,
  href,
  label,
  className = "",
}: ButtonStyle & { href: string; label?: string; children: ReactNode; className?: string }) {
  return (
    <Link href={href} aria-label={label} className={classes({ variant, size }, className)}>
      {icon}
      {children}
    </Link>
  );
}
