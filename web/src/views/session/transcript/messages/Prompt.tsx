/** What was asked of the agent, by whom, with the files that came along. */
import { Bot, Clock, CornerDownRight, File as FileIcon, MessageCircleQuestion } from "lucide-react";
import { memo, type ReactNode, useMemo } from "react";
import { Link } from "wouter";
import type { FileNote, Message, Task } from "@/api/types";
import { routes } from "@/app/routes";
import { bytes } from "@/lib/format";
import { part } from "@/ui/code/foldLines";
import { Button } from "@/ui/controls/Button";
import { useFold, useTaskOf } from "../TranscriptContext";
import css from "./Prompt.module.css";

/** A prompt is there to be recognised; who wants all of it opens it. */
const LINES = 14;
const MOST = 2400;

/** Who asked, and by which way. */
function whoOf(task: Task | undefined): { words: string; icon: ReactNode } {
  if (task?.source === "schedule") return { words: "By schedule", icon: <Clock /> };
  if (task?.source === "btw") return { words: "Asked aside", icon: <MessageCircleQuestion /> };
  if (task?.source === "callback") return { words: "Report of a child", icon: <CornerDownRight /> };
  if (task?.sourceSessionId || task?.source === "session")
    return { words: "Prompted by an agent", icon: <Bot /> };
  return { words: "You", icon: null };
}

function Who({ task }: { task: Task | undefined }) {
  const { words, icon } = whoOf(task);
  const from = task?.sourceSessionId;
  return (
    <span className={css.mark}>
      {icon}
      {from ? <Link href={routes.session(from)}>{words}</Link> : words}
    </span>
  );
}

function Attached({ file }: { file: FileNote }) {
  const href = `/api/files/${file.id}`;
  return (
    <a className={css.file} href={href} target="_blank" rel="noopener noreferrer" title={file.name}>
      {file.mimeType.startsWith("image/") && file.mimeType !== "image/svg+xml" ? (
        <img src={href} alt="" loading="lazy" />
      ) : (
        <FileIcon aria-hidden />
      )}
      <span className={css.fileName}>{file.name}</span>
      <span className={css.size}>{bytes(file.size)}</span>
    </a>
  );
}

export const Prompt = memo(function Prompt({ message, text }: { message: Message; text: string }) {
  const task = useTaskOf(message.taskId);
  const [open, toggle] = useFold(message.id);
  const shown = useMemo(() => part(text, false, false, LINES), [text]);
  const long = shown.folded || text.length > MOST;
  const files = message.content.files ?? [];
  return (
    <div className={css.prompt} data-agent={task?.sourceSessionId ? "" : undefined}>
      <div className={css.who}>
        <Who task={task} />
      </div>
      <div className={css.text}>{long && !open ? `${shown.text.slice(0, MOST).trimEnd()} …` : text}</div>
      {long && (
        <Button look="quiet" size="small" data-fold onClick={toggle}>
          {open ? "Show less" : shown.folded ? `Show all ${shown.lines} lines` : "Show all of it"}
        </Button>
      )}
      {files.length > 0 && (
        <div className={css.files}>
          {files.map((file) => (
            <Attached key={file.id} file={file} />
          ))}
        </div>
      )}
    </div>
  );
});
