/** What an agent has said it can be set to, as it is kept with its session: names of models and of efforts. */
import type { Session } from "@/api/types";

interface Option {
  id?: string;
  category?: string | null;
  options?: unknown;
}

const values = (options: unknown): string[] =>
  Array.isArray(options)
    ? options.flatMap((one: { value?: unknown; options?: unknown }) =>
        typeof one?.value === "string" ? [one.value] : values(one?.options),
      )
    : [];

export function offeredBy(session: Pick<Session, "metadata">): { models: string[]; efforts: string[] } {
  const known = (session.metadata as { configOptions?: unknown }).configOptions;
  const all: Option[] = Array.isArray(known) ? known : [];
  const of = (...names: string[]) =>
    all
      .filter((one) => names.includes(one.category ?? "") || names.includes(one.id ?? ""))
      .flatMap((one) => values(one.options));
  return { models: of("model"), efforts: of("effort", "thought_level") };
}

/** What is known of an agent by its sessions: the first of them that tells something. */
export function offeredFor(
  agent: string | null,
  sessions: readonly Pick<Session, "agent" | "metadata">[],
): { models: string[]; efforts: string[] } {
  for (const session of sessions) {
    if (session.agent !== agent) continue;
    const offered = offeredBy(session);
    if (offered.models.length || offered.efforts.length) return offered;
  }
  return { models: [], efforts: [] };
}
