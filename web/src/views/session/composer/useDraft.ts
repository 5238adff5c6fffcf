/** What is being written survives a reload: kept in this browser, a moment after the last key. */
import { useCallback, useEffect, useRef, useState } from "react";
import { getPref, setPref } from "@/lib/prefs";

const SETTLE = 300;
export const draftName = (sessionId: string) => `draft.${sessionId}`;

export function useDraft(sessionId: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => getPref(draftName(sessionId), ""));
  const unsaved = useRef<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const save = useCallback(() => {
    clearTimeout(timer.current);
    if (unsaved.current !== null) setPref(draftName(sessionId), unsaved.current || undefined);
    unsaved.current = null;
  }, [sessionId]);
  useEffect(() => {
    window.addEventListener("pagehide", save);
    return () => {
      window.removeEventListener("pagehide", save);
      save();
    };
  }, [save]);
  const write = useCallback(
    (next: string) => {
      setText(next);
      unsaved.current = next;
      clearTimeout(timer.current);
      // An emptied box is remembered at once: what was sent must not come back.
      if (next) timer.current = setTimeout(save, SETTLE);
      else save();
    },
    [save],
  );
  return [text, write];
}
