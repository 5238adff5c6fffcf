/** Keys of the home page: j and k move the focus through its items, x marks the focused item as read. */
import { useRef } from "react";
import { runRequest, seeSession } from "@/api/actions";
import { useActions } from "@/app/keyboard/shortcuts";
import { nextIndex } from "./summaries";

const items = (root: HTMLElement | null): HTMLElement[] =>
  root ? [...root.querySelectorAll<HTMLElement>("[data-item]")] : [];

export function useItemKeys() {
  const root = useRef<HTMLDivElement>(null);
  const current = (all: HTMLElement[]) => all.findIndex((item) => item.contains(document.activeElement));
  const move = (by: 1 | -1) => {
    const all = items(root.current);
    const next = all[nextIndex(all.length, current(all), by)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const see = () => {
    const all = items(root.current);
    const at = current(all);
    const sessionId = all[at]?.dataset.dismiss;
    if (!sessionId) return;
    // The item will disappear, so the next one gets the focus.
    (all[at + 1] ?? all[at - 1])?.focus();
    void runRequest(() => seeSession(sessionId));
  };
  useActions([
    { keys: "j", label: "Next item", group: "Home", run: () => move(1) },
    { keys: "k", label: "Previous item", group: "Home", run: () => move(-1) },
    { keys: "x", label: "Mark item as read", group: "Home", run: see },
  ]);
  return root;
}
