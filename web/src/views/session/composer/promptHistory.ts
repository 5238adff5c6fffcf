/** Earlier prompts in the box, as a shell has them: up for older ones, down for newer ones, and at the end what was being
 * written. */
import type { Task } from "@/api/types";

/** What people have said to this session, oldest first; the same twice in a row is one. */
export function earlierPrompts(tasks: readonly Task[]): string[] {
  const said = [...tasks]
    .filter((task) => task.source === "user" || task.source === "initial")
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt))
    .map((task) => task.prompt);
  return said.filter((prompt, at) => prompt.trim() && prompt !== said[at - 1]);
}

export interface Browsing {
  /** Which of the earlier prompts is shown; `null` is what the person writes. */
  at: number | null;
  draft: string;
}

export const WRITING: Browsing = { at: null, draft: "" };

/** One step through `earlier`: the text to show and where one then is, or `null` if there is nothing further. */
export function step(
  earlier: readonly string[],
  now: Browsing,
  text: string,
  direction: "older" | "newer",
): { text: string; browsing: Browsing } | null {
  if (direction === "older") {
    const at = (now.at ?? earlier.length) - 1;
    if (at < 0) return null;
    return { text: earlier[at]!, browsing: { at, draft: now.at === null ? text : now.draft } };
  }
  if (now.at === null) return null;
  const at = now.at + 1;
  if (at >= earlier.length) return { text: now.draft, browsing: WRITING };
  return { text: earlier[at]!, browsing: { at, draft: now.draft } };
}

/** Whether an arrow key is about the history rather than about the caret: only at the ends of the text. */
export function wantsHistory(
  key: string,
  box: { selectionStart: number; selectionEnd: number; value: string },
  browsing: Browsing,
): "older" | "newer" | null {
  if (box.selectionStart !== box.selectionEnd) return null;
  const first = box.selectionStart === 0;
  const last = box.selectionEnd === box.value.length;
  if (key === "ArrowUp" && (first || (last && browsing.at !== null))) return "older";
  if (key === "ArrowDown" && browsing.at !== null && (first || last)) return "newer";
  return null;
}
