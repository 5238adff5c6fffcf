/** The example prompts of an agent, if its catalog file has any. A click fills the composer. */
import { useAgents } from "@/api/queries";
import css from "./Composer.module.css";

export function ExamplePrompts({ agent, onPick }: { agent: string; onPick: (prompt: string) => void }) {
  const { data: agents = [] } = useAgents();
  const examples = agents.find(({ name }) => name === agent)?.examples ?? [];
  if (!examples.length) return null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: the buttons are not inputs of the form, they only fill its text
    <div className={css.examples} role="group" aria-label="Example prompts">
      <span className={css.try}>Try:</span>
      {examples.map(({ name, prompt }) => (
        <button
          key={name}
          type="button"
          className={css.example}
          title={prompt}
          onClick={() => onPick(prompt)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
