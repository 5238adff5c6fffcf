/** What can be inserted after a slash: the agent's commands, also before its first turn, and saved prompts. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { offeredPromptsQuery, sessionsQuery } from "@/api/queries";
import type { Session } from "@/api/types";
import { firstLine } from "@/lib/format";
import { type Command, commandsOf } from "./slashCommands";

/** Returns the commands of a session's agent: those that it has told in this session; before its first turn, those of its
 * newest session, first in the same repository. What an agent tells of itself without a session would come last. */
export function knownCommands(session: Session, sessions: readonly Session[]): Command[] {
  const own = commandsOf(session);
  if (own.length) return own;
  const others = sessions.filter(({ agent }) => agent === session.agent);
  const near = others.filter(({ repoId }) => repoId === session.repoId);
  for (const other of [...near, ...others]) {
    const commands = commandsOf(other);
    if (commands.length) return commands;
  }
  return [];
}

const NO_SESSIONS: Session[] = [];

export function useCommands(session: Session): Command[] {
  const sessions = useQuery(sessionsQuery).data ?? NO_SESSIONS;
  const prompts = useQuery(offeredPromptsQuery(session.id)).data;
  return useMemo(() => {
    const commands = knownCommands(session, sessions);
    const names = new Set(commands.map(({ name }) => name));
    const saved = (prompts ?? [])
      .filter(({ name }) => !names.has(name))
      .map(({ name, text }) => ({ name, description: firstLine(text, 80), hint: "saved prompt", text }));
    return [...commands, ...saved];
  }, [session, sessions, prompts]);
}
