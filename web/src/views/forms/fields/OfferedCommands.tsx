/** The slash commands that an agent offers, while one is being typed as the first prompt. A click completes it. */
import { useAgentOffer } from "@/api/queries";
import { matchingCommands, slashWord } from "@/views/session/composer/commands/slashCommands";
import css from "./fields.module.css";

const MOST_SHOWN = 8;

export function OfferedCommands({
  agent,
  prompt,
  onPick,
}: {
  agent: string | null;
  prompt: string;
  onPick: (prompt: string) => void;
}) {
  const word = slashWord(prompt, prompt.length);
  const offer = useAgentOffer(agent, word !== null).data;
  if (word === null || !offer?.commands.length) return null;
  const commands = offer.commands.map(({ name, description }) => ({
    name: name.replace(/^\//, ""),
    description: description ?? "",
    hint: null,
  }));
  return (
    // biome-ignore lint/a11y/useSemanticElements: the buttons are not inputs of the form, they only fill its text
    <div className={css.commands} role="group" aria-label="Slash commands">
      {matchingCommands(commands, word)
        .slice(0, MOST_SHOWN)
        .map(({ name, description }) => (
          <button
            key={name}
            type="button"
            className={css.command}
            title={description}
            onClick={() => onPick(`/${name} `)}
          >
            /{name}
          </button>
        ))}
    </div>
  );
}
