/** Recalls earlier prompts with the arrow keys, like a shell: up for older ones, down for newer ones, then the draft. */
import type { Task } from "@/api/types";

/** Returns the prompts that people sent to a session, oldest first, without repeats. */
export function earlierPrompts(tasks: readonly Task[]): string[] {
  const prompts = [...tasks]
    .filter((task) => task.source === "user" || task.source === "initial")
    .sort((a, b) => a.createdAt.localeCompare(b.createdAt))
    .map((task) => task.prompt);
  return prompts.filter((prompt, index) => prompt.trim() && prompt !== prompts[index - 1]);
}

export interface HistoryPosition {
  /** The index of the earlier prompt that is shown; null for the draft. */
  index: number | null;
  draft: string;
}

export const AT_DRAFT: HistoryPosition = { index: null, draft: "" };

/** Takes one step through the earlier prompts. Returns the text to show and the new position, or null at the end. */
export function historyStep(
  earlier: readonly string[],
  position: HistoryPosition,
  text: string,
  direction: "older" | "newer",
): { text: string; position: HistoryPosition } | null {
  if (direction === "older") {
    const index = (position.index ?? earlier.length) - 1;
    if (index < 0) return null;
    const draft = position.index === null ? text : position.draft;
    return { text: earlier[index]!, position: { index, draft } };
  }
  if (position.index === null) return null;
  const index = position.index + 1;
  if (index >= earlier.length) return { text: position.draft, position: AT_DRAFT };
  return { text: earlier[index]!, position: { index, draft: position.draft } };
}

/** Returns the history step that an arrow key means; null if it only moves the caret, away from the ends of the text. */
export function historyDirection(
  key: string,
  box: { selectionStart: number; selectionEnd: number; value: string },
  position: HistoryPosition,
): "older" | "newer" | null {
  if (box.selectionStart !== box.selectionEnd) return null;
  const atStart = box.selectionStart === 0;
  const atEnd = box.selectionEnd === box.value.length;
  if (key === "ArrowUp" && (atStart || (atEnd && position.index !== null))) return "older";
  if (key === "ArrowDown" && position.index !== null && (atStart || atEnd)) return "newer";
  return null;
}
