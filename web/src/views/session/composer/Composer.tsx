/** The form in which prompts are written, with drafts, earlier prompts, slash commands and files. */
import {
  type KeyboardEvent,
  type Ref,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Session, Task } from "@/api/types";
import { plural } from "@/lib/format";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import type { SessionState } from "../sessionState";
import { type AttachedFile, attachFiles, MAX_FILES, toPromptFiles } from "./attachments";
import css from "./Composer.module.css";
import { ComposerBar } from "./ComposerBar";
import { CommandList, optionId } from "./commands/CommandList";
import { type Command, completeCommand, matchingCommands, slashWord } from "./commands/slashCommands";
import { useCommands } from "./commands/useCommands";
import { ExamplePrompts } from "./ExamplePrompts";
import { FileChips } from "./FileChips";
import { completeMention, mentionWord, useMentionedFiles } from "./mentions/fileMentions";
import { AT_DRAFT, earlierPrompts, historyDirection, historyStep } from "./promptHistory";
import { SavedPrompts } from "./SavedPrompts";
import { SettingChips } from "./SettingChips";
import { useDraft } from "./useDraft";
import { useSend } from "./useSend";

export interface ComposerHandle {
  focus: () => void;
  attach: (files: File[]) => void;
}

interface Props {
  session: Session;
  tasks: Task[];
  state: SessionState;
  onSideQuestion: () => void;
  /** Whether it takes the focus when it opens, if nothing else has it; undefined while that is not known. */
  focused?: boolean;
  ref?: Ref<ComposerHandle>;
}

const COMMAND_LIST_ID = "agent-commands";

export function Composer({ session, tasks, state, onSideQuestion, focused, ref }: Props) {
  const [text, setText] = useDraft(session.id);
  const [files, setFiles] = useState<AttachedFile[]>([]);
  const [historyPosition, setHistoryPosition] = useState(AT_DRAFT);
  const [caret, setCaret] = useState(0);
  const [selection, setSelection] = useState(0);
  const [dismissedText, setDismissedText] = useState("");
  const isTouch = useMedia("(pointer: coarse)");
  const [enterSends, setEnterSends] = usePref("enterSends", !isTouch);
  const { busy, error, setError, send } = useSend(session.id);
  const textField = useRef<HTMLTextAreaElement>(null);

  const earlier = useMemo(() => earlierPrompts(tasks), [tasks]);
  const known = useCommands(session);
  const word = slashWord(text, caret);
  const mention = word === null && dismissedText !== text ? mentionWord(text, caret) : null;
  const mentioned = useMentionedFiles(session.id, mention);
  const commands =
    mention !== null
      ? mentioned.map((name) => ({ name, description: "", hint: null }))
      : word === null || dismissedText === text
        ? []
        : matchingCommands(known, word);
  const selected = Math.min(selection, Math.max(0, commands.length - 1));

  const addFiles = async (added: File[]) => {
    const outcome = await attachFiles(files, added);
    // More files may have been added, or all of them sent, while these were read.
    const read = outcome.files.slice(files.length);
    setFiles((current) => [...current, ...read].slice(0, MAX_FILES));
    setError(outcome.errors.join(" ") || null);
  };
  useImperativeHandle(ref, () => ({
    focus: () => textField.current?.focus(),
    attach: (added) => void addFiles(added),
  }));
  // Not on a touch screen, where the keyboard would cover half of the session; and not if a question waits, which is
  // answered by single keys.
  const hasOpened = useRef(false);
  useEffect(() => {
    if (hasOpened.current || focused === undefined) return;
    hasOpened.current = true;
    const isFree = !document.activeElement || document.activeElement === document.body;
    if (focused && isFree && !isTouch) textField.current?.focus({ preventScroll: true });
  }, [focused, isTouch]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height depends on the text
  useLayoutEffect(() => {
    const area = textField.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [text]);

  const replaceText = (next: string, caretAt: "start" | "end" | number = "end") => {
    setText(next);
    requestAnimationFrame(() => {
      const offset = caretAt === "start" ? 0 : caretAt === "end" ? next.length : caretAt;
      textField.current?.setSelectionRange(offset, offset);
      setCaret(offset);
    });
  };
  const complete = (command: Command) => {
    if (mention === null) replaceText(completeCommand(command, text, caret));
    else {
      const completed = completeMention(command.name, text, caret);
      replaceText(completed.text, completed.caret);
    }
    setSelection(0);
    textField.current?.focus();
  };
  const submit = async (when?: "now" | "after_stop") => {
    if (busy || state.broken || !text.trim()) return;
    if (!(await send(text, toPromptFiles(files), when))) return;
    setText("");
    setFiles([]);
    setHistoryPosition(AT_DRAFT);
  };

  /** Handles a key for the command list; returns whether it did. */
  const handleCommandKey = (event: KeyboardEvent): boolean => {
    if (!commands.length) return false;
    const command = commands[selected]!;
    if (event.key === "ArrowDown") setSelection((selected + 1) % commands.length);
    else if (event.key === "ArrowUp") setSelection((selected + commands.length - 1) % commands.length);
    else if (event.key === "Escape") setDismissedText(text);
    else if (event.key === "Tab" && !event.shiftKey) complete(command);
    else if (event.key === "Enter" && !event.shiftKey && (mention ?? word) !== command.name)
      complete(command);
    else return false;
    return true;
  };
  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (handleCommandKey(event)) {
      event.preventDefault();
      return;
    }
    const mod = event.ctrlKey || event.metaKey;
    if (event.key === "Enter" && (mod || (enterSends && !event.shiftKey && !event.altKey))) {
      event.preventDefault();
      void submit();
    } else if (event.key === "Escape") textField.current?.blur();
    else if (!mod && !event.shiftKey && !event.altKey) {
      const direction = historyDirection(event.key, event.currentTarget, historyPosition);
      const recalled = direction && historyStep(earlier, historyPosition, text, direction);
      if (!recalled) return;
      event.preventDefault();
      setHistoryPosition(recalled.position);
      replaceText(recalled.text, direction === "older" ? "start" : "end");
    }
  };

  const isEmpty = !text && !files.length;
  return (
    <form
      className={css.composer}
      aria-label="Prompt"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {isEmpty && session.messageCount === 0 && !state.broken && (
        <ExamplePrompts
          agent={session.agent}
          onPick={(example) => {
            replaceText(example);
            textField.current?.focus();
          }}
        />
      )}
      {error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
      <div className={css.field}>
        {commands.length > 0 && (
          <CommandList
            id={COMMAND_LIST_ID}
            label={mention === null ? "Agent commands" : "Files"}
            prefix={mention === null ? "/" : "@"}
            commands={commands}
            selected={selected}
            onPick={complete}
          />
        )}
        <FileChips files={files} onRemove={(id) => setFiles(files.filter((file) => file.id !== id))} />
        <textarea
          ref={textField}
          id="prompt"
          className={css.text}
          rows={1}
          value={text}
          readOnly={busy}
          disabled={state.broken}
          aria-label="Prompt"
          placeholder={state.broken ? "This session can’t continue." : "What should the agent do?"}
          aria-autocomplete="list"
          aria-controls={commands.length ? COMMAND_LIST_ID : undefined}
          aria-activedescendant={commands.length ? optionId(COMMAND_LIST_ID, selected) : undefined}
          onChange={(event) => {
            setText(event.target.value);
            setHistoryPosition(AT_DRAFT);
            setSelection(0);
            setDismissedText("");
            setCaret(event.target.selectionStart);
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onKeyDown={onKey}
          onPaste={(event) => {
            const pasted = [...event.clipboardData.files];
            if (!pasted.length) return;
            event.preventDefault();
            void addFiles(pasted);
          }}
        />
        <div className={css.settings}>
          <SettingChips session={session} disabled={state.broken} />
        </div>
        <ComposerBar
          agent={session.agent}
          state={state}
          busy={busy}
          empty={!text.trim()}
          enterSends={enterSends}
          onEnterSends={setEnterSends}
          onFiles={(added) => void addFiles(added)}
          onSendNow={(when) => void submit(when)}
          onSideQuestion={onSideQuestion}
          prompts={
            <SavedPrompts
              sessionId={session.id}
              text={text}
              disabled={state.broken}
              onInsert={(inserted) =>
                replaceText(text.slice(0, caret) + inserted + text.slice(caret), caret + inserted.length)
              }
              onFocus={() => textField.current?.focus()}
            />
          }
        />
        <p className="visually-hidden" role="status">
          {commands.length
            ? `${plural(commands.length, mention === null ? "command" : "file")}. Use the arrow keys to choose, Tab to complete.`
            : ""}
        </p>
      </div>
    </form>
  );
}
