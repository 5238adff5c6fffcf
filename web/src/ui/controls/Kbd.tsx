/** Shows keys as the platform names them. */
import css from "./Kbd.module.css";

const MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);
const NAMES: Record<string, string> = MAC
  ? { mod: "⌘", alt: "⌥", shift: "⇧", enter: "↵", escape: "esc" }
  : { mod: "Ctrl", alt: "Alt", shift: "Shift", enter: "Enter", escape: "Esc" };

/** `keys` is a chord such as `mod+k`, or a sequence such as `g h`. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <span className={css.keys}>
      {keys.split(/[+ ]/).map((key) => (
        <kbd key={key} className={css.key}>
          {NAMES[key] ?? (key.length === 1 ? key.toUpperCase() : key)}
        </kbd>
      ))}
    </span>
  );
}
