/** Sets the title of the browser tab: the number of pending approvals and what the view shows. */
import { useEffect } from "react";
import { useApprovals } from "@/api/queries";
import { ExternalStore, useExternal } from "@/lib/external";

const NAME = "Bough";
const current = new ExternalStore("");

/** Returns “Bough” for the home page, “Fix the login · Bough” for a session. */
export const fullTitle = (text: string, waiting: number): string =>
  `${waiting > 0 ? `(${waiting}) ` : ""}${text ? `${text} · ${NAME}` : NAME}`;

/** Names the tab while a view is shown; pass nothing until the name is known. */
export function useTitle(text: string | null | undefined): void {
  useEffect(() => {
    const mine = text ?? "";
    current.set(mine);
    return () => {
      if (current.get() === mine) current.set("");
    };
  }, [text]);
}

/** Writes the title; used once, by the shell. */
export function useTabTitle(): void {
  const text = useExternal(current);
  const waiting = useApprovals().data?.length ?? 0;
  useEffect(() => {
    document.title = fullTitle(text, waiting);
  }, [text, waiting]);
}
