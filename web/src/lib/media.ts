/** What the window and its person are like, as CSS knows it: wide or narrow, a mouse or a finger. */
import { useMemo, useSyncExternalStore } from "react";

export function useMedia(query: string): boolean {
  const list = useMemo(() => window.matchMedia(query), [query]);
  return useSyncExternalStore(
    (listener) => {
      list.addEventListener("change", listener);
      return () => list.removeEventListener("change", listener);
    },
    () => list.matches,
  );
}
