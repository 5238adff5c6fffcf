/** A part of an entry that opens and closes: one line that is a button, and what it hides. */
import { ChevronRight } from "lucide-react";
import { type ReactNode, useId } from "react";
import { useFold } from "../TranscriptContext";
import css from "./Fold.module.css";

export function Fold({
  name,
  first = false,
  icon,
  line,
  aside,
  children,
  look = "plain",
}: {
  /** By which it is remembered as open or closed. */
  name: string;
  first?: boolean;
  icon?: ReactNode;
  line: ReactNode;
  /** Marks at the end of the line. */
  aside?: ReactNode;
  children: () => ReactNode;
  look?: "plain" | "framed" | "small";
}) {
  const [open, toggle] = useFold(name, first);
  const id = useId();
  return (
    <div className={css[look]}>
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
        {aside}
      </button>
      <div id={id} className={css.body} hidden={!open}>
        {open && children()}
      </div>
    </div>
  );
}
