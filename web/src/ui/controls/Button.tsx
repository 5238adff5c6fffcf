/** Buttons, and links that look like buttons. A busy button shows a spinner and ignores clicks. */
import { LoaderCircle } from "lucide-react";
import type { ComponentProps, ReactNode } from "react";
import { Link } from "wouter";
import css from "./Button.module.css";
import { Tip } from "./Tip";

type Look = "plain" | "primary" | "danger" | "quiet";

interface ButtonStyle {
  look?: Look;
  size?: "small" | "normal";
  icon?: ReactNode;
}

const classes = ({ look = "plain", size = "normal" }: ButtonStyle, extra = "") =>
  `${css.button} ${css[look]} ${size === "small" ? css.small : ""} ${extra}`;

export function Button({
  look,
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
      className={classes({ look, size }, className)}
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
  look = "quiet",
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
        className={classes({ look, size }, `${css.icon} ${className}`)}
      >
        {children}
      </button>
    </Tip>
  );
}

export function ButtonLink({
  look,
  size,
  icon,
  children,
  href,
  className = "",
}: ButtonStyle & { href: string; children: ReactNode; className?: string }) {
  return (
    <Link href={href} className={classes({ look, size }, className)}>
      {icon}
      {children}
    </Link>
  );
}
