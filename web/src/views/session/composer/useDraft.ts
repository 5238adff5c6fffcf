/** Keeps a prompt's draft in local storage, so that it survives a reload. */
import { useCallback, useEffect, useRef, useState } from "react";
import { getPref, setPref } from "@/lib/prefs";

/** How long after the last key the draft is saved, in milliseconds. */
const SAVE_DELAY = 300;
export const draftKey = (sessionId: string) => `draft.${sessionId}`;

export function useDraft(sessionId: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => getPref(draftKey(sessionId), ""));
  const unsaved = useRef<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const save = useCallback(() => {
    clearTimeout(timer.current);
    if (unsaved.current !== null) setPref(draftKey(sessionId), unsaved.current || undefined);
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
      // An empty draft is saved at once, so that a sent prompt does not come back.
      if (next) timer.current = setTimeout(save, SAVE_DELAY);
      else save();
    },
    [save],
  );
  return [text, write];
}
