/** Reads the models and efforts that an agent offers from the options stored with its sessions. */
import type { Session } from "@/api/types";

interface Option {
  id?: string;
  category?: string | null;
  options?: unknown;
}

const values = (options: unknown): string[] =>
  Array.isArray(options)
    ? options.flatMap((option: { value?: unknown; options?: unknown }) =>
        typeof option?.value === "string" ? [option.value] : values(option?.options),
      )
    : [];

export function optionsOfSession(session: Pick<Session, "metadata">): {
  models: string[];
  efforts: string[];
} {
  const stored = (session.metadata as { configOptions?: unknown }).configOptions;
  const all: Option[] = Array.isArray(stored) ? stored : [];
  const of = (...names: string[]) =>
    all
      .filter((option) => names.includes(option.category ?? "") || names.includes(option.id ?? ""))
      .flatMap((option) => values(option.options));
  return { models: of("model"), efforts: of("effort", "thought_level") };
}

/** Returns the options of an agent, from the first of its sessions that has any. */
export function optionsOfAgent(
  agent: string | null,
  sessions: readonly Pick<Session, "agent" | "metadata">[],
): { models: string[]; efforts: string[] } {
  for (const session of sessions) {
    if (session.agent !== agent) continue;
    const offered = optionsOfSession(session);
    if (offered.models.length || offered.efforts.length) return offered;
  }
  return { models: [], efforts: [] };
}
