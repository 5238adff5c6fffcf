/** Shows a tool call as one line with its state; expands to its details. */

import { useQuery } from "@tanstack/react-query";
import {
  ArrowRightLeft,
  Brain,
  CircleCheck,
  CircleSlash,
  CircleX,
  Download,
  FilePen,
  FileSearch,
  Hand,
  LoaderCircle,
  Search,
  Settings2,
  SquareTerminal,
  Trash2,
  Wrench,
} from "lucide-react";
import { memo, type ReactNode, useCallback, useMemo } from "react";
import { approvalsQuery } from "@/api/queries";
import type { Approval, Message } from "@/api/types";
import { hasEnded } from "@/lib/words";
import { DiffCounts } from "@/ui/diff/DiffView";
import { fileOf } from "@/ui/diff/parsePatch";
import { Fold } from "../messages/Fold";
import { useShortPath, useTaskOf } from "../TranscriptContext";
import { Decision } from "./Decision";
import { ToolBody } from "./ToolBody";
import css from "./ToolCall.module.css";
import { decisionOf } from "./toolDecision";
import { editsOf, STATE_LABELS, type ToolState, toolState } from "./toolMessage";

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

const STATE_ICONS: Record<ToolState, ReactNode> = {
  running: <LoaderCircle className={css.spin} />,
  waiting: <Hand />,
  ok: <CircleCheck />,
  failed: <CircleX />,
  denied: <CircleSlash />,
  unfinished: <CircleSlash />,
};

/** Whether an approval about this call is pending. */
function useIsAsked({ sessionId, taskId, content }: Message): boolean {
  const callId = content.toolCallId;
  const select = useCallback(
    (all: Approval[]) =>
      all.some(
        (approval) =>
          approval.sessionId === sessionId &&
          approval.taskId === taskId &&
          approval.toolCall.toolCallId === callId,
      ),
    [sessionId, taskId, callId],
  );
  return useQuery({ ...approvalsQuery, select, enabled: Boolean(callId) }).data ?? false;
}

/** Diffs of up to this many lines are shown at once. */
const SMALL_DIFF = 14;

export const ToolCall = memo(function ToolCall({ message }: { message: Message }) {
  const { content } = message;
  const shortPath = useShortPath();
  const task = useTaskOf(message.taskId);
  const isAsked = useIsAsked(message);
  const state = toolState(content, task ? hasEnded(task.status) : false, isAsked);
  const decision = decisionOf(content);
  const files = useMemo(
    () => editsOf(content).map((edit) => fileOf(edit.path, edit.oldText, edit.newText)),
    [content],
  );
  const additions = files.reduce((sum, file) => sum + file.additions, 0);
  const deletions = files.reduce((sum, file) => sum + file.deletions, 0);
  // The approval card shows the diff while it is pending.
  const isPending = state === "waiting" || (state === "running" && task?.status === "waiting_permission");
  const isSmall = files.length > 0 && additions + deletions <= SMALL_DIFF && state !== "denied" && !isPending;
  const title = shortPath(String(content.title || content.tool || "Tool"));
  return (
    <>
      <Fold
        name={message.id}
        variant="framed"
        startOpen={isSmall}
        icon={ICONS[String(content.kind)] ?? <Wrench />}
        line={<span className={content.kind === "execute" ? css.command : css.title}>{title}</span>}
        trailing={
          <>
            {files.length > 0 && <DiffCounts additions={additions} deletions={deletions} />}
            <span className={`${css.state} ${css[state]}`} data-state={state}>
              <span aria-hidden>{STATE_ICONS[state]}</span>
              <span className={state === "ok" || state === "running" ? "visually-hidden" : undefined}>
                {STATE_LABELS[state]}
              </span>
            </span>
          </>
        }
      >
        {() => <ToolBody message={message} state={state} />}
      </Fold>
      {decision && <Decision decision={decision} />}
    </>
  );
});
