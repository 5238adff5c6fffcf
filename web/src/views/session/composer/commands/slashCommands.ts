/** Completes the agent's own slash commands. */
import type { Session } from "@/api/types";

export interface Command {
  name: string;
  description: string;
  /** Describes the command's input, in the agent's words. */
  hint: string | null;
  /** The text that replaces the command, if it is a saved prompt. */
  text?: string;
}

export function commandsOf(session: Pick<Session, "metadata">): Command[] {
  const commands = session.metadata.commands;
  if (!Array.isArray(commands)) return [];
  return commands.flatMap(
    (command: { name?: unknown; description?: unknown; input?: { hint?: unknown } | null }) =>
      typeof command?.name === "string" && command.name
        ? [
            {
              name: command.name.replace(/^\//, ""),
              description: typeof command.description === "string" ? command.description : "",
              hint: typeof command.input?.hint === "string" ? command.input.hint : null,
            },
          ]
        : [],
  );
}

/** Returns the command name being typed after the slash; null if the text is not a command or the name is complete. */
export function slashWord(text: string, caret: number): string | null {
  const typed = /^\/(\S*)$/.exec(text.slice(0, caret));
  return typed && !/^\S/.test(text.slice(caret)) ? typed[1]! : null;
}

/** Returns the matching commands: first those whose name starts with the word, then those that contain it, then those
 * whose description has a word that starts with it. */
export function matchingCommands(commands: readonly Command[], word: string): Command[] {
  const prefix = word.toLowerCase();
  const rank = ({ name, description }: Command): number => {
    if (name.toLowerCase().startsWith(prefix)) return 0;
    if (name.toLowerCase().includes(prefix)) return 1;
    const descriptionWords = description.toLowerCase().split(/\W+/);
    return prefix.length > 1 && descriptionWords.some((part) => part.startsWith(prefix)) ? 2 : 3;
  };
  return commands
    .map((command) => ({ command, rank: rank(command) }))
    .filter((ranked) => ranked.rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .map((ranked) => ranked.command);
}

/** Returns the text with the command's name completed, or with the saved prompt in its place. */
export const completeCommand = (command: Command, text: string, caret: number): string =>
  command.text === undefined
    ? `/${command.name} ${text.slice(caret).trimStart()}`
    : command.text + text.slice(caret);
