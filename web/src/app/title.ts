/** The words on the browser's tab: what a view says it shows, behind the number of questions that wait for an answer. */
import { useEffect } from "react";
import { useApprovals } from "@/api/queries";
import { External, useExternal } from "@/lib/external";

const NAME = "Bough";
const current = new External("");

/** `Home` without a text: “Bough”; a session: “Fix the login · Bough”. */
export const fullTitle = (text: string, waiting: number): string =>
  `${waiting > 0 ? `(${waiting}) ` : ""}${text ? `${text} · ${NAME}` : NAME}`;

/** Names the tab while the view is shown; while its name is not known yet, give nothing. */
export function useTitle(text: string | null | undefined): void {
  useEffect(() => {
    const mine = text ?? "";
    current.set(mine);
    return () => {
      if (current.get() === mine) current.set("");
    };
  }, [text]);
}

/** Writes the title. Used once, by the shell. */
export function useTabTitle(): void {
  const text = useExternal(current);
  const waiting = useApprovals().data?.length ?? 0;
  useEffect(() => {
    document.title = fullTitle(text, waiting);
  }, [text, waiting]);
}
