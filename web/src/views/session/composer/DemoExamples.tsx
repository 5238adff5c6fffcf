/** Example prompts for the demo agent, which has no model but follows directives. A click fills the composer. */
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

export const DemoExamples = ({ onPick }: { onPick: (text: string) => void }) => (
  // biome-ignore lint/a11y/useSemanticElements: the buttons are not inputs of the form, they only fill its text
  <div className={css.examples} role="group" aria-label="Demo agent examples">
    <span className={css.try}>Try:</span>
    {EXAMPLES.map(({ name, text }) => (
      <button key={name} type="button" className={css.example} title={text} onClick={() => onPick(text)}>
        {name}
      </button>
    ))}
  </div>
);
