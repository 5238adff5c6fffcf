/** Below the box: files, what Enter does, and the button that says what sending does. */
import { ArrowUp, Paperclip } from "lucide-react";
import { useRef } from "react";
import { Button, IconButton } from "@/ui/controls/Button";
import { type Standing, sending } from "../sessionState";
import css from "./Composer.module.css";

const MOD = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";

interface Props {
  now: Standing;
  busy: boolean;
  empty: boolean;
  enterSends: boolean;
  onEnterSends: (enterSends: boolean) => void;
  onFiles: (files: File[]) => void;
}

export function Bar({ now, busy, empty, enterSends, onEnterSends, onFiles }: Props) {
  const chooser = useRef<HTMLInputElement>(null);
  const { label, words } = sending(now);
  return (
    <div className={css.bar}>
      <IconButton label="Add files" disabled={now.broken} onClick={() => chooser.current?.click()}>
        <Paperclip />
      </IconButton>
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      {words ? (
        <span className={css.what} title={words}>
          {words}
        </span>
      ) : (
        <button
          type="button"
          className={css.hint}
          title="Change what Enter does"
          onClick={() => onEnterSends(!enterSends)}
        >
          {enterSends
            ? "Enter sends, Shift+Enter for a new line"
            : `${MOD}+Enter sends, Enter for a new line`}
        </button>
      )}
      <Button
        type="submit"
        look="primary"
        icon={<ArrowUp />}
        busy={busy}
        disabled={now.broken || empty}
        className={css.send}
        title={words || undefined}
      >
        {label}
      </Button>
    </div>
  );
}
