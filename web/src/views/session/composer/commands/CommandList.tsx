/** Lists what can be completed while it is typed: the agent's slash commands, or files. The text field keeps the focus and moves the selection. */
import { useEffect, useRef } from "react";
import css from "./CommandList.module.css";
import type { Command } from "./slashCommands";

export const optionId = (listId: string, index: number) => `${listId}-${index}`;

export function CommandList({
  id,
  label,
  prefix,
  commands,
  selected,
  onPick,
}: {
  id: string;
  label: string;
  /** The character before each name. */
  prefix: string;
  commands: Command[];
  selected: number;
  onPick: (command: Command) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[selected]?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  return (
    <div ref={list} id={id} className={css.list} role="listbox" aria-label={label}>
      {commands.map((command, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: the text field handles the keys
        <div
          key={command.name}
          id={optionId(id, index)}
          role="option"
          aria-selected={index === selected}
          className={css.option}
          // The text field must keep the focus.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onPick(command)}
        >
          <span className={css.name}>
            {prefix}
            {command.name} {command.hint && <span className={css.hint}>{command.hint}</span>}
          </span>
          <span className={css.about}>{command.description}</span>
        </div>
      ))}
    </div>
  );
}
