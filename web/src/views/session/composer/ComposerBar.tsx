/** The row below the prompt: attach files, ask a side question, what Enter does, and the send button. */
import { ArrowUp, MessageCircleQuestion, Paperclip } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { Button, IconButton } from "@/ui/controls/Button";
import { type SessionState, sendButton } from "../sessionState";
import css from "./Composer.module.css";
import { SendNow } from "./SendNow";

const MOD = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";

interface Props {
  agent: string;
  state: SessionState;
  busy: boolean;
  empty: boolean;
  enterSends: boolean;
  onEnterSends: (enterSends: boolean) => void;
  onFiles: (files: File[]) => void;
  onSendNow: (when: "now" | "after_stop") => void;
  onSideQuestion: () => void;
  /** The button of saved prompts. */
  prompts: ReactNode;
}

export function ComposerBar(props: Props) {
  const { agent, state, busy, empty, enterSends, onEnterSends, onFiles, onSendNow, onSideQuestion } = props;
  const fileInput = useRef<HTMLInputElement>(null);
  const { label, hint } = sendButton(state);
  return (
    <div className={css.bar}>
      <IconButton label="Attach files" disabled={state.broken} onClick={() => fileInput.current?.click()}>
        <Paperclip />
      </IconButton>
      <input
        ref={fileInput}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      {props.prompts}
      <IconButton
        label="Ask without interrupting"
        shortcut="b"
        className={css.sideQuestion}
        onClick={onSideQuestion}
      >
        <MessageCircleQuestion />
      </IconButton>
      {hint ? (
        <span className={css.sendHint} title={hint}>
          {hint}
        </span>
      ) : (
        <button
          type="button"
          className={css.enterHint}
          title="Change what Enter does"
          onClick={() => onEnterSends(!enterSends)}
        >
          {enterSends
            ? "Enter to send, Shift+Enter for a new line"
            : `${MOD}+Enter to send, Enter for a new line`}
        </button>
      )}
      {state.busy && !state.ended && (
        <SendNow agent={agent} disabled={busy || empty || state.broken} onSend={onSendNow} />
      )}
      <Button
        type="submit"
        variant="primary"
        icon={<ArrowUp />}
        busy={busy}
        disabled={state.broken || empty}
        className={css.send}
        title={hint || undefined}
      >
        {label}
      </Button>
    </div>
  );
}
