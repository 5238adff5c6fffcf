/** The box in which prompts are written: drafts, earlier prompts, the agent's commands, files, and what sending does. */
import {
  type KeyboardEvent,
  type Ref,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Session, Task } from "@/api/types";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import type { Standing } from "../sessionState";
import { type AttachedFile, attachFiles, MOST_FILES, toPromptFiles } from "./attachments";
import css from "./Composer.module.css";
import { Bar } from "./ComposerBar";
import { CommandList, optionId } from "./commands/CommandList";
import { type Command, commandsOf, completed, matching, slashWord } from "./commands/slashCommands";
import { Examples } from "./DemoExamples";
import { FileChips } from "./FileChips";
import { earlierPrompts, step, WRITING, wantsHistory } from "./promptHistory";
import { useDraft } from "./useDraft";
import { useSend } from "./useSend";

export interface ComposerHandle {
  focus: () => void;
  attach: (files: File[]) => void;
}

interface Props {
  session: Session;
  tasks: Task[];
  now: Standing;
  ref?: Ref<ComposerHandle>;
}

const LIST = "commands-of-agent";

export function Composer({ session, tasks, now, ref }: Props) {
  const [text, write] = useDraft(session.id);
  const [files, setFiles] = useState<AttachedFile[]>([]);
  const [browsing, setBrowsing] = useState(WRITING);
  const [caret, setCaret] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [dismissed, setDismissed] = useState("");
  const touch = useMedia("(pointer: coarse)");
  const [enterSends, setEnterSends] = usePref("enterSends", !touch);
  const { busy, error, setError, send } = useSend(session.id);
  const box = useRef<HTMLTextAreaElement>(null);

  const earlier = useMemo(() => earlierPrompts(tasks), [tasks]);
  const word = slashWord(text, caret);
  const commands = word === null || dismissed === text ? [] : matching(commandsOf(session), word);
  const at = Math.min(chosen, Math.max(0, commands.length - 1));

  const take = async (added: File[]) => {
    const outcome = await attachFiles(files, added);
    // More may have been added, or all of it sent, while these were read.
    const read = outcome.files.slice(files.length);
    setFiles((now) => [...now, ...read].slice(0, MOST_FILES));
    setError(outcome.refused.join(" ") || null);
  };
  useImperativeHandle(ref, () => ({
    focus: () => box.current?.focus(),
    attach: (added) => void take(added),
  }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height follows the text
  useLayoutEffect(() => {
    const area = box.current;
    if (!area) return;
    area.style.height = "auto";
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [text]);

  const put = (next: string, place: "start" | "end" = "end") => {
    write(next);
    requestAnimationFrame(() => {
      const spot = place === "start" ? 0 : next.length;
      box.current?.setSelectionRange(spot, spot);
      setCaret(spot);
    });
  };
  const complete = (command: Command) => {
    put(completed(command, text, caret));
    setChosen(0);
    box.current?.focus();
  };
  const submit = async () => {
    if (busy || now.broken || !text.trim()) return;
    if (!(await send(text, toPromptFiles(files)))) return;
    write("");
    setFiles([]);
    setBrowsing(WRITING);
  };

  const inCommands = (event: KeyboardEvent): boolean => {
    if (!commands.length) return false;
    const picked = commands[at]!;
    if (event.key === "ArrowDown") setChosen((at + 1) % commands.length);
    else if (event.key === "ArrowUp") setChosen((at + commands.length - 1) % commands.length);
    else if (event.key === "Escape") setDismissed(text);
    else if (event.key === "Tab" && !event.shiftKey) complete(picked);
    else if (event.key === "Enter" && !event.shiftKey && word !== picked.name) complete(picked);
    else return false;
    return true;
  };
  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (inCommands(event)) {
      event.preventDefault();
      return;
    }
    const mod = event.ctrlKey || event.metaKey;
    if (event.key === "Enter" && (mod || (enterSends && !event.shiftKey && !event.altKey))) {
      event.preventDefault();
      void submit();
    } else if (event.key === "Escape") box.current?.blur();
    else if (!mod && !event.shiftKey && !event.altKey) {
      const wanted = wantsHistory(event.key, event.currentTarget, browsing);
      const found = wanted && step(earlier, browsing, text, wanted);
      if (!found) return;
      event.preventDefault();
      setBrowsing(found.browsing);
      put(found.text, wanted === "older" ? "start" : "end");
    }
  };

  const empty = !text && !files.length;
  return (
    <form
      className={css.composer}
      aria-label="Prompt"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {session.agent === "demo" && empty && session.messageCount === 0 && !now.broken && (
        <Examples
          onPick={(example) => {
            put(example);
            box.current?.focus();
          }}
        />
      )}
      {error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
      <div className={css.box}>
        {commands.length > 0 && <CommandList id={LIST} commands={commands} chosen={at} onPick={complete} />}
        <FileChips files={files} onRemove={(id) => setFiles(files.filter((one) => one.id !== id))} />
        <textarea
          ref={box}
          id="prompt"
          className={css.text}
          rows={1}
          value={text}
          readOnly={busy}
          disabled={now.broken}
          aria-label="Prompt"
          placeholder={now.broken ? "This session cannot go on." : "What should the agent do?"}
          aria-autocomplete="list"
          aria-controls={commands.length ? LIST : undefined}
          aria-activedescendant={commands.length ? optionId(LIST, at) : undefined}
          onChange={(event) => {
            write(event.target.value);
            setBrowsing(WRITING);
            setChosen(0);
            setDismissed("");
            setCaret(event.target.selectionStart);
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onKeyDown={onKey}
          onPaste={(event) => {
            const pasted = [...event.clipboardData.files];
            if (!pasted.length) return;
            event.preventDefault();
            void take(pasted);
          }}
        />
        <Bar
          now={now}
          busy={busy}
          empty={!text.trim()}
          enterSends={enterSends}
          onEnterSends={setEnterSends}
          onFiles={(added) => void take(added)}
        />
        <p className="visually-hidden" role="status">
          {commands.length ? `${commands.length} commands. Arrow keys choose, Tab completes.` : ""}
        </p>
      </div>
    </form>
  );
}
