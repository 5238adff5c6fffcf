/** How much the agent may do without asking: the eight modes in words, with a warning for those that ask nothing. */
import { TriangleAlert } from "lucide-react";
import { useId } from "react";
import type { Mode } from "@/api/types";
import { isUnasked, MODES } from "@/lib/words";
import css from "./Settings.module.css";

export function ModeField({ mode, onChange }: { mode: Mode; onChange: (mode: Mode) => void }) {
  const name = useId();
  return (
    <fieldset className={css.part}>
      <legend className={css.head}>Mode</legend>
      <p className={css.hint}>A change takes effect at the next prompt.</p>
      {MODES.map((one) => (
        <label key={one.mode} className={css.choice}>
          <input type="radio" name={name} checked={mode === one.mode} onChange={() => onChange(one.mode)} />
          <span>
            <span className={css.choiceName}>
              {one.name}
              {isUnasked(one.mode) && <TriangleAlert className={css.warn} aria-label="Asks nothing" />}
            </span>
            <span className={css.hint}>{one.words}</span>
          </span>
        </label>
      ))}
      {isUnasked(mode) && (
        <p className={css.warning}>
          <TriangleAlert aria-hidden /> Nothing is asked. Use it only where you can lose everything in the
          folder, and what its process reaches.
        </p>
      )}
    </fieldset>
  );
}
