/** Completes files that are mentioned in a prompt, such as `@src/main.ts`. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useDeferredValue } from "react";
import { api, dataOf } from "@/api/client";

/** The most files that are offered at once. */
const MOST = 12;

/** Returns the part of a file's name being typed after an `@`; null if none is. */
export function mentionWord(text: string, caret: number): string | null {
  const typed = /(?:^|[\s(])@([^\s@]*)$/.exec(text.slice(0, caret));
  return typed && !/^\S/.test(text.slice(caret)) ? typed[1]! : null;
}

/** Returns the text with the mentioned file completed, and where the caret goes. */
export function completeMention(file: string, text: string, caret: number): { text: string; caret: number } {
  const word = mentionWord(text, caret) ?? "";
  const before = `${text.slice(0, caret - word.length)}${file} `;
  return { text: before + text.slice(caret).replace(/^ /, ""), caret: before.length };
}

const NONE: string[] = [];
/** Returns the files that match what is typed. */
export function useMentionedFiles(sessionId: string, word: string | null): string[] {
  const match = useDeferredValue(word ?? "");
  const query = useQuery({
    queryKey: ["mentionedFiles", sessionId, match],
    queryFn: () =>
      dataOf(
        api.GET("/api/sessions/{sessionId}/files", {
          params: { path: { sessionId }, query: { match } },
        }),
      ),
    enabled: word !== null,
    placeholderData: keepPreviousData,
    staleTime: 5_000,
    gcTime: 30_000,
    retry: false,
  });
  return word === null ? NONE : (query.data?.files.slice(0, MOST) ?? NONE);
}
