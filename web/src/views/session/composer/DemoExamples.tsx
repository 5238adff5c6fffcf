/** Directives to try with the demo agent, which has no model: one click puts one into the box. */
import css from "./Composer.module.css";

const EXAMPLES = [
  { name: "Say something", text: "[[say Hello from the **demo agent**.]]" },
  { name: "Plan and work", text: "[[plan Look around; Change it; Test]] [[slow 10 5]] [[say Done.]]" },
  { name: "Write a file", text: "[[write notes.md # Notes]]" },
  { name: "Run a command", text: "[[run git status --short]]" },
  {
    name: "Spawn a child",
    text: '[[mcp agor_sessions_spawn {"prompt": "[[say I am the child]]", "title": "A child"}]]',
  },
];

export const Examples = ({ onPick }: { onPick: (text: string) => void }) => (
  // biome-ignore lint/a11y/useSemanticElements: these are no inputs of the form, only ways to fill its box
  <div className={css.examples} role="group" aria-label="Examples for the demo agent">
    <span className={css.try}>Try:</span>
    {EXAMPLES.map(({ name, text }) => (
      <button key={name} type="button" className={css.example} title={text} onClick={() => onPick(text)}>
        {name}
      </button>
    ))}
  </div>
);
