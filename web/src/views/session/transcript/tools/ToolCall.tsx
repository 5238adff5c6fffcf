/** One use of a tool by the agent: a line that says what and how it went, and behind it everything about it. */
import {
  ArrowRightLeft,
  Brain,
  CircleCheck,
  CircleSlash,
  CircleX,
  Download,
  FilePen,
  FileSearch,
  LoaderCircle,
  Search,
  Settings2,
  SquareTerminal,
  Trash2,
  Wrench,
} from "lucide-react";
import { memo, type ReactNode, useMemo } from "react";
import type { Message } from "@/api/types";
import { isOver } from "@/lib/words";
import { DiffCounts } from "@/ui/diff/DiffView";
import { fileOf } from "@/ui/diff/parsePatch";
import { Fold } from "../messages/Fold";
import { useShortPath, useTaskOf } from "../TranscriptContext";
import { ToolBody } from "./ToolBody";
import css from "./ToolCall.module.css";
import { edits, stateOf, type ToolState, WORDS } from "./toolMessage";

const ICONS: Record<string, ReactNode> = {
  read: <FileSearch />,
  edit: <FilePen />,
  delete: <Trash2 />,
  move: <ArrowRightLeft />,
  search: <Search />,
  execute: <SquareTerminal />,
  think: <Brain />,
  fetch: <Download />,
  switch_mode: <Settings2 />,
};

const STATES: Record<ToolState, ReactNode> = {
  running: <LoaderCircle className={css.spin} />,
  ok: <CircleCheck />,
  failed: <CircleX />,
  denied: <CircleSlash />,
  unfinished: <CircleSlash />,
};

/** Differences below this are shown without being asked for. */
const SMALL = 14;

export const ToolCall = memo(function ToolCall({ message }: { message: Message }) {
  const { content } = message;
  const short = useShortPath();
  const task = useTaskOf(message.taskId);
  const state = stateOf(content, task ? isOver(task.status) : false);
  const files = useMemo(
    () => edits(content).map((one) => fileOf(one.path, one.oldText, one.newText)),
    [content],
  );
  const additions = files.reduce((sum, file) => sum + file.additions, 0);
  const deletions = files.reduce((sum, file) => sum + file.deletions, 0);
  // What is asked about is shown by the question.
  const asked = state === "running" && task?.status === "waiting_permission";
  const small = files.length > 0 && additions + deletions <= SMALL && state !== "denied" && !asked;
  const title = short(String(content.title || content.tool || "Tool"));
  return (
    <Fold
      name={message.id}
      look="framed"
      first={small}
      icon={ICONS[String(content.kind)] ?? <Wrench />}
      line={<span className={content.kind === "execute" ? css.command : css.title}>{title}</span>}
      aside={
        <>
          {files.length > 0 && <DiffCounts additions={additions} deletions={deletions} />}
          <span className={`${css.state} ${css[state]}`} data-state={state}>
            <span aria-hidden>{STATES[state]}</span>
            <span className={state === "ok" || state === "running" ? "visually-hidden" : undefined}>
              {WORDS[state]}
            </span>
          </span>
        </>
      }
    >
      {() => <ToolBody message={message} state={state} />}
    </Fold>
  );
});
