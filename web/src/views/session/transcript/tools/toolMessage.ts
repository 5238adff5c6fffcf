/** What a tool call's message says: how it went, what it changed, what it printed. Agents word this differently. */
import type { Content, Message } from "@/api/types";

export type ToolState = "running" | "ok" | "failed" | "denied" | "unfinished";

export interface FileEdit {
  path: string;
  oldText: string | null;
  newText: string;
}

type Json = Record<string, unknown>;
const record = (value: unknown): Json | null =>
  value && typeof value === "object" && !Array.isArray(value) ? (value as Json) : null;
const text = (value: unknown): string | null => (typeof value === "string" ? value : null);
const list = (value: unknown): Json[] =>
  Array.isArray(value) ? value.map(record).filter((one): one is Json => one !== null) : [];

/** `over`: its task has ended, so what has no end by now will have none. */
export function stateOf(content: Content, over: boolean): ToolState {
  const status = text(content.result?.status);
  if (record(content.permission)?.decision === "denied" || isDenied(content)) return "denied";
  if (status === "completed") return "ok";
  if (status === "failed") return "failed";
  return over ? "unfinished" : "running";
}

const isDenied = (content: Content) => /\bdenied\b/i.test(text(content.result?.note) ?? "");

export const WORDS: Record<ToolState, string> = {
  running: "Running",
  ok: "Done",
  failed: "Failed",
  denied: "Denied",
  unfinished: "Not finished",
};

export const edits = (content: Content): FileEdit[] =>
  list(content.result?.content).flatMap((one) =>
    one.type === "diff"
      ? [{ path: text(one.path) ?? "", oldText: text(one.oldText), newText: text(one.newText) ?? "" }]
      : [],
  );

/** Blocks of content that are no differences: texts joined, and the others as they are. */
export function said(content: Content): { text: string; others: Json[] } {
  const texts: string[] = [];
  const others: Json[] = [];
  for (const one of list(content.result?.content)) {
    if (one.type !== "content") continue;
    const block = record(one.content);
    const words = text(block?.text);
    if (block?.type === "text" && words !== null) texts.push(words);
    else if (block) others.push(block);
  }
  return { text: texts.join("\n"), others };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what the sequences of terminals begin with
const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;

export interface Terminal {
  command: string;
  output: string;
  exitCode: number | null;
  signal: string | null;
}

/** A command with what it printed, if that is what the tool was. */
export function terminalOf(content: Content): Terminal | null {
  const hasTerminal = list(content.result?.content).some((one) => one.type === "terminal");
  const command = content.args?.command ?? content.args?.cmd;
  if (content.kind !== "execute" && !hasTerminal) return null;
  const raw = content.result?.output;
  const out = record(raw);
  const streams = [text(out?.stdout), text(out?.stderr)].filter(Boolean).join("\n");
  const printed =
    text(raw) ?? text(out?.output) ?? text(out?.aggregated_output) ?? (streams || said(content).text);
  const number = (value: unknown) => (typeof value === "number" ? value : null);
  return {
    command: Array.isArray(command) ? command.join(" ") : (text(command) ?? text(content.title) ?? ""),
    output: printed.replace(ANSI, "").replaceAll("\r\n", "\n"),
    exitCode: number(content.result?.exitCode) ?? number(out?.exitCode) ?? number(out?.exit_code),
    signal: text(content.result?.signal) ?? text(out?.signal),
  };
}

/** A session that the tool opened or turned to. */
export function sessionOf(content: Content): string | null {
  const found = record(record(content.result?.output)?.structuredContent);
  return text(found?.sessionId);
}

export interface Place {
  path: string;
  line?: number;
}
export const places = (content: Content): Place[] =>
  list(content.locations).flatMap((one) => {
    const path = text(one.path);
    return path ? [{ path, line: typeof one.line === "number" ? one.line : undefined }] : [];
  });

/** What "copy" takes of a message. */
export function copyOf(message: Message, shown: string): string {
  const { content } = message;
  if (content.type === "tool") {
    const terminal = terminalOf(content);
    if (terminal) return `$ ${terminal.command}\n${terminal.output}`;
    return [text(content.title), said(content).text, ...edits(content).map((one) => one.newText)]
      .filter(Boolean)
      .join("\n");
  }
  if (content.type === "plan") return (content.steps ?? []).map((step) => `- ${step.content}`).join("\n");
  return shown || JSON.stringify(content, null, 2);
}

/** The words of a child's report that are its own. */
export function lastMessageOf(report: string): string | null {
  const at = report.indexOf("Its last message:\n");
  if (at < 0) return null;
  const quoted = report.slice(at + "Its last message:\n".length).split("\n");
  const end = quoted.findIndex((line) => !line.startsWith(">"));
  const own = end < 0 ? quoted : quoted.slice(0, end);
  return own.map((line) => line.replace(/^> ?/, "")).join("\n");
}
