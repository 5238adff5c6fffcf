/** The agent's commands above the box, while one is being typed. The box keeps the focus and moves the choice. */
import { useEffect, useRef } from "react";
import css from "./CommandList.module.css";
import type { Command } from "./slashCommands";

export const optionId = (list: string, at: number) => `${list}-${at}`;

export function CommandList({
  id,
  commands,
  chosen,
  onPick,
}: {
  id: string;
  commands: Command[];
  chosen: number;
  onPick: (command: Command) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  return (
    <div ref={list} id={id} className={css.list} role="listbox" aria-label="Commands of the agent">
      {commands.map((command, at) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: the keys are those of the box
        <div
          key={command.name}
          id={optionId(id, at)}
          role="option"
          aria-selected={at === chosen}
          className={css.option}
          // The box must not lose the focus to what is pointed at.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onPick(command)}
        >
          <span className={css.name}>
            /{command.name} {command.hint && <span className={css.hint}>{command.hint}</span>}
          </span>
          <span className={css.about}>{command.description}</span>
        </div>
      ))}
    </div>
  );
}
