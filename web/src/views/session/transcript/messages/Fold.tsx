/** A part of a message that expands and collapses: a line that is a button, and the content below it. */
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId } from "react";
import { useFold } from "../TranscriptContext";
import css from "./Fold.module.css";

export function Fold({
  name,
  startOpen = false,
  icon,
  line,
  trailing,
  children,
  variant = "plain",
}: {
  /** Identifies the fold, so that its state outlasts the component. */
  name: string;
  startOpen?: boolean;
  icon?: ReactNode;
  line: ReactNode;
  /** Shown at the end of the line. */
  trailing?: ReactNode;
  children: () => ReactNode;
  variant?: "plain" | "framed" | "small";
}) {
  const [open, toggle] = useFold(name, startOpen);
  const id = useId();
  return (
    <div className={css[variant]}>
      <button
        type="button"
        className={css.line}
        aria-expanded={open}
        aria-controls={id}
        data-fold
        onClick={toggle}
      >
        <ChevronRight className={open ? css.turned : css.turn} aria-hidden />
        {icon && (
          <span className={css.icon} aria-hidden>
            {icon}
          </span>
        )}
        <span className={css.words}>{line}</span>
        {trailing}
      </button>
      <div id={id} className={css.body} hidden={!open}>
        {open && children()}
      </div>
    </div>
  );
}
