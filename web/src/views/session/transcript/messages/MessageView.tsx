/** One message of a transcript in its frame: what it is by its kind, when it was, and a button that copies it. */
import { memo, type ReactNode } from "react";
import { useEntry } from "@/live/hooks";
import type { Entry as Stored } from "@/live/transcript/transcript";
import { CopyButton } from "@/ui/code/Code";
import { Markdown } from "@/ui/markdown/Markdown";
import { useAround } from "../TranscriptContext";
import { ToolCall } from "../tools/ToolCall";
import { copyOf } from "../tools/toolMessage";
import { Block } from "./ContentBlock";
import css from "./MessageView.module.css";
import { Aside, ChildReport, Note, Other, Outcome } from "./Notes";
import { Plan } from "./Plan";
import { Prompt } from "./Prompt";
import { Thought } from "./Thought";

const NAMES: Record<string, string> = {
  thought: "Thought",
  tool: "Tool",
  plan: "Plan",
  callback: "Report of a child",
  outcome: "Outcome",
  btw: "Aside",
  error: "Error",
  notice: "Notice",
  cancelled: "Stopped",
};

const nameOf = ({ message }: Stored, agent: string): string =>
  message.content.type === "text"
    ? message.role === "user"
      ? "Prompt"
      : `Answer of ${agent}`
    : message.content.type === "tool"
      ? `Tool: ${message.content.title ?? message.content.tool ?? ""}`
      : (NAMES[message.content.type] ?? "Message");

function contents({ message, text }: Stored): ReactNode {
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
      return <Aside message={message} />;
    case "outcome":
      return <Outcome message={message} />;
    case "error":
    case "notice":
    case "cancelled":
      return <Note message={message} />;
    case "content":
      return <Block block={(content.content ?? {}) as Record<string, unknown>} />;
    default:
      return <Other message={message} />;
  }
}

const clock = (time: string) => {
  const at = new Date(time);
  const today = at.toDateString() === new Date().toDateString();
  return at.toLocaleString(
    undefined,
    today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" },
  );
};

export const Entry = memo(function Entry({
  id,
  tight,
  marked,
}: {
  id: string;
  tight: boolean;
  marked: boolean;
}) {
  const { transcript, session } = useAround();
  const entry = useEntry(transcript, id);
  if (!entry) return null;
  const { message } = entry;
  return (
    <article
      className={`${css.entry} ${tight ? css.tight : ""} ${marked ? css.marked : ""}`}
      aria-label={nameOf(entry, session.agent)}
      tabIndex={-1}
      data-row={id}
      data-type={message.content.type}
      data-role={message.role}
    >
      {contents(entry)}
      <div className={css.tools}>
        <time dateTime={message.createdAt}>{clock(message.createdAt)}</time>
        <CopyButton text={copyOf(message, entry.text)} label="Copy message" />
      </div>
    </article>
  );
});
