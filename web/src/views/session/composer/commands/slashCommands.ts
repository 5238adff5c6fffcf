/** The agent's own slash commands: which ones what is typed can still become. */
import type { Session } from "@/api/types";

export interface Command {
  name: string;
  description: string;
  /** What the command wants behind its name, in the agent's words. */
  hint: string | null;
}

export function commandsOf(session: Pick<Session, "metadata">): Command[] {
  const found = session.metadata.commands;
  if (!Array.isArray(found)) return [];
  return found.flatMap((one: { name?: unknown; description?: unknown; input?: { hint?: unknown } | null }) =>
    typeof one?.name === "string" && one.name
      ? [
          {
            name: one.name.replace(/^\//, ""),
            description: typeof one.description === "string" ? one.description : "",
            hint: typeof one.input?.hint === "string" ? one.input.hint : null,
          },
        ]
      : [],
  );
}

/** The word behind the slash while it is being typed; `null` when the text is no command, or its name is complete. */
export function slashWord(text: string, caret: number): string | null {
  const typed = /^\/(\S*)$/.exec(text.slice(0, caret));
  return typed && !/^\S/.test(text.slice(caret)) ? typed[1]! : null;
}

/** Those that begin with the word come first, then those that hold it, then those whose description has a word that
 * begins with it. */
export function matching(commands: readonly Command[], word: string): Command[] {
  const wanted = word.toLowerCase();
  const rank = ({ name, description }: Command): number => {
    if (name.toLowerCase().startsWith(wanted)) return 0;
    if (name.toLowerCase().includes(wanted)) return 1;
    const told = description.toLowerCase().split(/\W+/);
    return wanted.length > 1 && told.some((one) => one.startsWith(wanted)) ? 2 : 3;
  };
  return commands
    .map((command) => ({ command, rank: rank(command) }))
    .filter((one) => one.rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .map((one) => one.command);
}

export const completed = (command: Command, text: string, caret: number): string =>
  `/${command.name} ${text.slice(caret).trimStart()}`;
