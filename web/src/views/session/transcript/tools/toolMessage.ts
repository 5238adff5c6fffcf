/** Reads a tool call's message: its state, the edits it made and the output it printed. Agents report these differently. */
import type { Content, Message } from "@/api/types";

export type ToolState = "running" | "waiting" | "ok" | "failed" | "denied" | "unfinished";

export interface FileEdit {
  path: string;
  oldText: string | null;
  newText: string;
}

type Json = Record<string, unknown>;
const asObject = (value: unknown): Json | null =>
  value && typeof value === "object" && !Array.isArray(value) ? (value as Json) : null;
const asText = (value: unknown): string | null => (typeof value === "string" ? value : null);
const asObjects = (value: unknown): Json[] =>
  Array.isArray(value) ? value.map(asObject).filter((item): item is Json => item !== null) : [];

/** `taskEnded` tells that a call without a result will never get one, `isAsked` that a person is asked about it. */
export function toolState(content: Content, taskEnded: boolean, isAsked = false): ToolState {
  const status = asText(content.result?.status);
  if (asObject(content.permission)?.decision === "denied" || content.result?.denied === true) return "denied";
  if (status === "completed") return "ok";
  if (status === "failed") return "failed";
  if (taskEnded) return "unfinished";
  return isAsked ? "waiting" : "running";
}

export const STATE_LABELS: Record<ToolState, string> = {
  running: "Running",
  waiting: "Needs your approval",
  ok: "Done",
  failed: "Failed",
  denied: "Denied",
  unfinished: "Not finished",
};

export const editsOf = (content: Content): FileEdit[] =>
  asObjects(content.result?.content).flatMap((item) =>
    item.type === "diff"
      ? [
          {
            path: asText(item.path) ?? "",
            oldText: asText(item.oldText),
            newText: asText(item.newText) ?? "",
          },
        ]
      : [],
  );

/** Returns the content that is not an edit: texts joined, and other blocks as they are. */
export function outputOf(content: Content): { text: string; others: Json[] } {
  const texts: string[] = [];
  const others: Json[] = [];
  for (const item of asObjects(content.result?.content)) {
    if (item.type !== "content") continue;
    const block = asObject(item.content);
    const blockText = asText(block?.text);
    if (block?.type === "text" && blockText !== null) texts.push(blockText);
    else if (block) others.push(block);
  }
  return { text: texts.join("\n"), others };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminal sequences begin with it
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

export interface Terminal {
  command: string;
  output: string;
  exitCode: number | null;
  signal: string | null;
}

/** Returns the command and its output, or null if the tool ran none. */
export function terminalOf(content: Content): Terminal | null {
  const hasTerminal = asObjects(content.result?.content).some((item) => item.type === "terminal");
  const command = content.args?.command ?? content.args?.cmd;
  if (content.kind !== "execute" && !hasTerminal) return null;
  const raw = content.result?.output;
  const output = asObject(raw);
  const streams = [asText(output?.stdout), asText(output?.stderr)].filter(Boolean).join("\n");
  const printed =
    asText(raw) ??
    asText(output?.output) ??
    asText(output?.aggregated_output) ??
    (streams || outputOf(content).text);
  const asNumber = (value: unknown) => (typeof value === "number" ? value : null);
  return {
    command: Array.isArray(command) ? command.join(" ") : (asText(command) ?? asText(content.title) ?? ""),
    output: printed.replace(ANSI, "").replaceAll("\r\n", "\n"),
    exitCode: asNumber(content.result?.exitCode) ?? asNumber(output?.exitCode) ?? asNumber(output?.exit_code),
    signal: asText(content.result?.signal) ?? asText(output?.signal),
  };
}

/** Returns the id of the session that the tool created or addressed. */
export function sessionIdOf(content: Content): string | null {
  return asText(asObject(asObject(content.result?.output)?.structuredContent)?.sessionId);
}

export interface FileLocation {
  path: string;
  line?: number;
}
export const locationsOf = (content: Content): FileLocation[] =>
  asObjects(content.locations).flatMap((item) => {
    const path = asText(item.path);
    return path ? [{ path, line: typeof item.line === "number" ? item.line : undefined }] : [];
  });

/** Returns the text that the copy button copies. */
export function copyTextOf(message: Message, shown: string): string {
  const { content } = message;
  if (content.type === "tool") {
    const terminal = terminalOf(content);
    if (terminal) return `$ ${terminal.command}\n${terminal.output}`;
    return [asText(content.title), outputOf(content).text, ...editsOf(content).map((edit) => edit.newText)]
      .filter(Boolean)
      .join("\n");
  }
  if (content.type === "plan") return (content.steps ?? []).map((step) => `- ${step.content}`).join("\n");
  return shown || JSON.stringify(content, null, 2);
}
