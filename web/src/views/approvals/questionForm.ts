/** Reads the form of an agent's question, and turns what a person entered into its answer. */
import type { Approval } from "@/api/types";

export interface QuestionField {
  name: string;
  type: "text" | "number" | "integer" | "boolean" | "choice" | "choices";
  title?: string;
  description?: string;
  required?: boolean;
  default?: string | number | boolean | string[];
  choices?: { value: string; title: string; description?: string; preview?: string }[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  format?: "email" | "uri" | "date" | "date-time";
  secret?: boolean;
}

export interface Question {
  mode: "form" | "url";
  message: string;
  title?: string;
  description?: string;
  fields?: QuestionField[];
  url?: string;
  host?: string;
}

/** What a person has entered: texts, switches and lists of choices, by the name of the field. */
export type Entries = Record<string, string | boolean | string[]>;

export const isQuestion = (approval: Pick<Approval, "toolKind">) => approval.toolKind === "question";
export const questionOf = ({ toolCall }: Pick<Approval, "toolCall">) => toolCall as unknown as Question;
export const labelOf = (field: QuestionField) => field.title || field.name;

export const initialEntries = (fields: QuestionField[]): Entries =>
  Object.fromEntries(
    fields.map((field) => {
      if (field.type === "boolean") return [field.name, field.default === true];
      if (field.type === "choices") return [field.name, Array.isArray(field.default) ? field.default : []];
      return [field.name, field.default === undefined ? "" : String(field.default)];
    }),
  );

/** Returns the values for the agent; a field that was left empty is left out. */
export function contentOf(fields: QuestionField[], entries: Entries): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const field of fields) {
    const entry = entries[field.name];
    if (entry === undefined || entry === "" || (Array.isArray(entry) && !entry.length)) continue;
    const isNumber = field.type === "number" || field.type === "integer";
    // What is no number stays a text, and the server says what is wrong with it.
    content[field.name] = isNumber && Number.isFinite(Number(entry)) ? Number(entry) : entry;
  }
  return content;
}

/** Describes the limits of a field. The pattern is only shown: an agent's pattern could stop the page. */
export function hintOf(field: QuestionField): string {
  const range = (low?: number, high?: number, noun = "") => {
    if (low !== undefined && high !== undefined) return `${low} to ${high}${noun}`;
    if (low !== undefined) return `At least ${low}${noun}`;
    return high !== undefined ? `At most ${high}${noun}` : "";
  };
  return [
    field.description,
    range(field.minimum, field.maximum),
    range(field.minLength, field.maxLength, " characters"),
    range(field.minItems, field.maxItems, " choices"),
    field.format === "date-time" && "Such as 2026-01-31T14:05:00Z",
    field.pattern && `Pattern: ${field.pattern}`,
    field.secret && "Only the agent sees it.",
    !field.required && field.type !== "boolean" && "Optional",
  ]
    .filter(Boolean)
    .join(" · ");
}
