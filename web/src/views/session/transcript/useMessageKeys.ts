/** Keys of the transcript: from message to message, open and close, to the newest. */
import { type RefObject, useRef } from "react";
import type { VirtualizerHandle } from "virtua";
import { useActions } from "@/app/keyboard/shortcuts";
import type { Row } from "./rows";

/** A row that was out of sight takes some frames to be there. */
const FRAMES = 20;

function focusRow(scroller: HTMLElement | null, key: string, left = FRAMES): void {
  const found = scroller?.querySelector<HTMLElement>(`[data-row="${CSS.escape(key)}"]`);
  if (found) found.focus({ preventScroll: true });
  else if (left > 0) requestAnimationFrame(() => focusRow(scroller, key, left - 1));
}

interface Given {
  rows: readonly Row[];
  list: RefObject<VirtualizerHandle | null>;
  scroller: RefObject<HTMLElement | null>;
  toEnd: () => void;
}

export function useMoves({ rows, list, scroller, toEnd }: Given): void {
  const current = useRef<string | null>(null);

  const here = (): number => {
    const focused =
      document.activeElement?.closest<HTMLElement>("[data-row]")?.dataset.row ?? current.current;
    const at = focused ? rows.findIndex((row) => row.key === focused) : -1;
    if (at >= 0 || !list.current) return at;
    const { scrollOffset, viewportSize } = list.current;
    return list.current.findItemIndex(scrollOffset + viewportSize / 2);
  };

  const move = (step: 1 | -1) => {
    let at = here();
    do at += step;
    while (rows[at] && rows[at]?.kind !== "message");
    const row = rows[at];
    if (!row) return;
    current.current = row.key;
    list.current?.scrollToIndex(at, { align: "nearest", offset: step * 24 });
    focusRow(scroller.current, row.key);
  };

  const fold = () => {
    const row = rows[here()];
    const found = row && scroller.current?.querySelector(`[data-row="${CSS.escape(row.key)}"]`);
    found?.querySelector<HTMLElement>("[data-fold], [aria-expanded]")?.click();
  };

  useActions([
    { keys: "j", label: "Next message", group: "Transcript", run: () => move(1) },
    { keys: "k", label: "Previous message", group: "Transcript", run: () => move(-1) },
    { keys: "o", label: "Open or close the message", group: "Transcript", run: fold },
    { keys: "end", label: "Go to the newest message", group: "Transcript", run: toEnd },
  ]);
}
