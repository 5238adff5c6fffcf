/** What can be inserted after a slash: the agent's commands, also before its first turn, and saved prompts. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { offeredPromptsQuery, sessionsQuery, useAgentOffer } from "@/api/queries";
import type { Session } from "@/api/types";
import { firstLine } from "@/lib/format";
import { type Command, commandsOf } from "./slashCommands";

/** Returns the commands of a session's agent: those that it has told in this session; before its first turn, those of its
 * newest session, first in the same repository; else those that it offers without a session. */
export function knownCommands(
  session: Session,
  sessions: readonly Session[],
  offered: readonly { name: string; description?: string | null }[] = [],
): Command[] {
  const own = commandsOf(session);
  if (own.length) return own;
  const others = sessions.filter(({ agent }) => agent === session.agent);
  const near = others.filter(({ repoId }) => repoId === session.repoId);
  for (const other of [...near, ...others]) {
    const commands = commandsOf(other);
    if (commands.length) return commands;
  }
  return commandsOf({ metadata: { commands: offered.map((command) => ({ ...command })) } });
}

const NO_SESSIONS: Session[] = [];

export function useCommands(session: Session): Command[] {
  const sessions = useQuery(sessionsQuery).data ?? NO_SESSIONS;
  const prompts = useQuery(offeredPromptsQuery(session.id)).data;
  const offered = useAgentOffer(session.agent, false).data?.commands;
  return useMemo(() => {
    const commands = knownCommands(session, sessions, offered);
    const names = new Set(commands.map(({ name }) => name));
    const saved = (prompts ?? [])
      .filter(({ name }) => !names.has(name))
      .map(({ name, text }) => ({ name, description: firstLine(text, 80), hint: "saved prompt", text }));
    return [...commands, ...saved];
  }, [session, sessions, prompts, offered]);
}
