/** Walking through the items of the start page by keys: j and k move the focus, x puts away what is focused. */
import { useRef } from "react";
import { act, seeSession } from "@/api/actions";
import { useActions } from "@/app/keyboard/shortcuts";
import { step } from "./summaries";

const items = (root: HTMLElement | null): HTMLElement[] =>
  root ? [...root.querySelectorAll<HTMLElement>("[data-item]")] : [];

export function useWalking() {
  const root = useRef<HTMLDivElement>(null);
  const current = (all: HTMLElement[]) => all.findIndex((one) => one.contains(document.activeElement));
  const move = (by: 1 | -1) => {
    const all = items(root.current);
    const next = all[step(all.length, current(all), by)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const see = () => {
    const all = items(root.current);
    const at = current(all);
    const sessionId = all[at]?.dataset.sees;
    if (!sessionId) return;
    // It will be gone: the next one takes its place.
    (all[at + 1] ?? all[at - 1])?.focus();
    void act(() => seeSession(sessionId));
  };
  useActions([
    { keys: "j", label: "Next item", group: "Home", run: () => move(1) },
    { keys: "k", label: "Previous item", group: "Home", run: () => move(-1) },
    { keys: "x", label: "Mark the item as seen", group: "Home", run: see },
  ]);
  return root;
}
