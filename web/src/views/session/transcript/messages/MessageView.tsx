/** Shows one message of a transcript by its type, with its time and a copy button. */
import { memo, type ReactNode } from "react";
import { useEntry } from "@/live/hooks";
import type { TranscriptEntry } from "@/live/transcript/transcript";
import { CopyButton } from "@/ui/code/Code";
import { Markdown } from "@/ui/markdown/Markdown";
import { MessageComment } from "@/views/review/MessageComment";
import { useTranscriptContext } from "../TranscriptContext";
import { ToolCall } from "../tools/ToolCall";
import { copyTextOf } from "../tools/toolMessage";
import { ContentBlock } from "./ContentBlock";
import css from "./MessageView.module.css";
import { CallResult, ChildReport, Notice, SideQuestion, UnknownMessage } from "./Notes";
import { Plan } from "./Plan";
import { Prompt } from "./Prompt";
import { Thought } from "./Thought";

const LABELS: Record<string, string> = {
  thought: "Thought",
  tool: "Tool",
  plan: "Plan",
  callback: "Report from a child",
  outcome: "Result",
  btw: "Side question",
  error: "Error",
  notice: "Notice",
  cancelled: "Stopped",
};

const labelOf = ({ message }: TranscriptEntry, agent: string): string =>
  message.content.type === "text"
    ? message.role === "user"
      ? "Prompt"
      : `Answer from ${agent}`
    : message.content.type === "tool"
      ? `Tool: ${message.content.title ?? message.content.tool ?? ""}`
      : (LABELS[message.content.type] ?? "Message");

function contentsOf({ message, text }: TranscriptEntry): ReactNode {
  const { content } = message;
  switch (content.type) {
    case "text":
      if (message.role === "user") return <Prompt message={message} text={text} />;
      return <Markdown text={text} growing={content.partial} />;
    case "thought":
      return <Thought id={message.id} text={text} partial={Boolean(content.partial)} />;
    case "tool":
      return <ToolCall message={message} />;
    case "plan":
      return <Plan steps={content.steps ?? []} />;
    case "callback":
      return <ChildReport message={message} />;
    case "btw":
      return <SideQuestion message={message} />;
    case "outcome":
      return <CallResult message={message} />;
    case "error":
    case "notice":
    case "cancelled":
      return <Notice message={message} />;
    case "content":
      return <ContentBlock block={(content.content ?? {}) as Record<string, unknown>} />;
    default:
      return <UnknownMessage message={message} />;
  }
}

/** Formats a time, with its date unless it is today. */
const formatTime = (time: string) => {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(
    undefined,
    isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" },
  );
};

export const MessageView = memo(function MessageView({
  id,
  tight,
  marked,
}: {
  id: string;
  tight: boolean;
  marked: boolean;
}) {
  const { transcript, session } = useTranscriptContext();
  const entry = useEntry(transcript, id);
  if (!entry) return null;
  const { message } = entry;
  return (
    <article
      className={`${css.entry} ${tight ? css.tight : ""} ${marked ? css.marked : ""}`}
      aria-label={labelOf(entry, session.agent)}
      tabIndex={-1}
      data-row={id}
      data-type={message.content.type}
      data-role={message.role}
    >
      {contentsOf(entry)}
      <div className={css.tools}>
        <time dateTime={message.createdAt}>{formatTime(message.createdAt)}</time>
        <MessageComment message={message} text={copyTextOf(message, entry.text)} />
        <CopyButton text={copyTextOf(message, entry.text)} label="Copy message" />
      </div>
    </article>
  );
});
