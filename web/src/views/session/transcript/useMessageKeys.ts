/** Registers the transcript's keyboard shortcuts: next and previous message, open and close, newest message. */
import { type RefObject, useRef } from "react";
import type { VirtualizerHandle } from "virtua";
import { useActions } from "@/app/keyboard/shortcuts";
import type { Row } from "./transcriptRows";

/** A row that was out of sight takes some frames to be drawn. */
const MAX_FRAMES = 20;

const findRow = (scroller: HTMLElement | null, key: string) =>
  scroller?.querySelector<HTMLElement>(`[data-row="${CSS.escape(key)}"]`);

function focusRow(scroller: HTMLElement | null, key: string, framesLeft = MAX_FRAMES): void {
  const row = findRow(scroller, key);
  if (row) row.focus({ preventScroll: true });
  else if (framesLeft > 0) requestAnimationFrame(() => focusRow(scroller, key, framesLeft - 1));
}

interface Options {
  rows: readonly Row[];
  list: RefObject<VirtualizerHandle | null>;
  scroller: RefObject<HTMLElement | null>;
  toEnd: () => void;
}

export function useMessageKeys({ rows, list, scroller, toEnd }: Options): void {
  const lastFocused = useRef<string | null>(null);

  /** The index of the focused row, else of the row in the middle of the view. */
  const currentIndex = (): number => {
    const focused =
      document.activeElement?.closest<HTMLElement>("[data-row]")?.dataset.row ?? lastFocused.current;
    const index = focused ? rows.findIndex((row) => row.key === focused) : -1;
    if (index >= 0 || !list.current) return index;
    const { scrollOffset, viewportSize } = list.current;
    return list.current.findItemIndex(scrollOffset + viewportSize / 2);
  };

  const move = (step: 1 | -1) => {
    let index = currentIndex();
    do index += step;
    while (rows[index] && rows[index]?.kind !== "message");
    const row = rows[index];
    if (!row) return;
    lastFocused.current = row.key;
    list.current?.scrollToIndex(index, { align: "nearest", offset: step * 24 });
    focusRow(scroller.current, row.key);
  };

  const toggleFold = () => {
    const row = rows[currentIndex()];
    const element = row && findRow(scroller.current, row.key);
    element?.querySelector<HTMLElement>("[data-fold], [aria-expanded]")?.click();
  };

  useActions([
    { keys: "j", label: "Next message", group: "Transcript", run: () => move(1) },
    { keys: "k", label: "Previous message", group: "Transcript", run: () => move(-1) },
    { keys: "o", label: "Expand or collapse message", group: "Transcript", run: toggleFold },
    { keys: "end", label: "Go to newest message", group: "Transcript", run: toEnd },
  ]);
}
