/** A session's title, edited in place. */
import { Pencil } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { patchSession, runRequest } from "@/api/actions";
import type { Session } from "@/api/types";
import { IconButton } from "@/ui/controls/Button";
import { Input } from "@/ui/controls/Field";
import css from "./Header.module.css";

export function Title({ session, name }: { session: Session; name: string }) {
  const [text, setText] = useState<string | null>(null);
  const [endedByKey, setEndedByKey] = useState(false);
  const pencil = useRef<HTMLButtonElement>(null);
  // After Enter or Escape, the focus returns to the button that started the edit.
  useEffect(() => {
    if (endedByKey && text === null) pencil.current?.focus();
  }, [endedByKey, text]);
  const save = async () => {
    const title = text?.trim();
    setText(null);
    if (title !== undefined && title !== session.title)
      await runRequest(() => patchSession(session.id, { title }));
  };
  if (text !== null)
    return (
      <form
        className={css.rename}
        onSubmit={(event) => {
          event.preventDefault();
          setEndedByKey(true);
          void save();
        }}
      >
        <h1 className="visually-hidden">{name}</h1>
        <Input
          aria-label="Title"
          value={text}
          autoFocus
          maxLength={200}
          onFocus={(event) => event.target.select()}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => void save()}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            setEndedByKey(true);
            setText(null);
          }}
        />
      </form>
    );
  return (
    <div className={css.titleRow}>
      <h1 className={css.title} title={name}>
        {name}
      </h1>
      <IconButton
        ref={pencil}
        label="Rename"
        size="small"
        className={css.pencil}
        onClick={() => {
          setEndedByKey(false);
          setText(session.title);
        }}
      >
        <Pencil />
      </IconButton>
    </div>
  );
}
