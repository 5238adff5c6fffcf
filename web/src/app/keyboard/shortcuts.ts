/** Keyboard shortcuts: views register actions while they are shown, the help and the palette list them, and one listener
 * runs them. Keys without a modifier are ignored while the user types. */
import { useEffect, useRef } from "react";
import { ExternalStore, useExternal } from "@/lib/external";

export interface Action {
  /** `mod+k`, `shift+?`, `c`, or `g h` for one key after the other. */
  keys?: string;
  label: string;
  /** The heading in help and palette. */
  group: string;
  run: () => void;
  /** More words by which the palette finds it. */
  words?: string;
}

const SECOND_KEY_WITHIN = 1200;
const offered = new ExternalStore<readonly Action[]>([]);
let first = { key: "", at: 0 };

export const useOfferedActions = (): readonly Action[] => useExternal(offered);

/** Registers actions while the component is shown. */
export function useActions(actions: Action[]): void {
  const now = useRef(actions);
  now.current = actions;
  const shape = actions.map((action) => `${action.keys}|${action.label}|${action.group}`).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list changes only with labels and keys; `run` is read from the ref
  useEffect(() => {
    const mine = now.current.map((action, at) => ({ ...action, run: () => now.current[at]?.run() }));
    offered.set([...offered.get(), ...mine]);
    return () =>
      offered.set(offered.get().filter((action) => !mine.includes(action as (typeof mine)[number])));
  }, [shape]);
}

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function chord(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey;
  return `${mod ? "mod+" : ""}${event.altKey ? "alt+" : ""}${event.shiftKey && event.key.length > 1 ? "shift+" : ""}${event.key.toLowerCase()}`;
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const pressed = chord(event);
  const modified = pressed.startsWith("mod+") || pressed.startsWith("alt+");
  if (!modified && (typing(event.target) || document.querySelector("[role=dialog],[role=menu]"))) return;
  const pair = Date.now() - first.at < SECOND_KEY_WITHIN ? `${first.key} ${pressed}` : "";
  // The action registered last belongs to the innermost component.
  const action = [...offered.get()]
    .reverse()
    .find((item) => item.keys && (item.keys === pair || item.keys === pressed));
  first = action ? { key: "", at: 0 } : { key: pressed, at: Date.now() };
  if (!action) return;
  event.preventDefault();
  action.run();
}

export function listenForKeys(): () => void {
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
