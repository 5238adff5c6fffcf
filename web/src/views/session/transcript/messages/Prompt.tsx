/** Shows a prompt: who sent it, its text and its files. */

import { useQuery } from "@tanstack/react-query";
import {
  Bot,
  Clock,
  CornerDownRight,
  File as FileIcon,
  ListX,
  MessageCircleQuestion,
  Repeat,
} from "lucide-react";
import { memo, type ReactNode, useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import { runRequest } from "@/api/actions";
import { client, fileQuery, useMe } from "@/api/queries";
import type { FileNote, Message, Task } from "@/api/types";
import { routes } from "@/app/routes";
import { openFile } from "@/lib/files";
import { bytes, firstLine } from "@/lib/format";
import { wasRemovedFromQueue } from "@/lib/words";
import { foldLines } from "@/ui/code/foldLines";
import { Button } from "@/ui/controls/Button";
import { useFold, useTaskOf } from "../TranscriptContext";
import { Fold } from "./Fold";
import css from "./Prompt.module.css";

/** Longer prompts are folded. */
const MAX_LINES = 14;
const MAX_LENGTH = 2400;

/** Returns who or what sent the prompt; `user` is its author if that is somebody else. */
function senderOf(task: Task | undefined, user: string | undefined): { label: string; icon: ReactNode } {
  if (task?.nudge) return { label: "From Bough", icon: <Repeat /> };
  if (task?.source === "schedule") return { label: "Scheduled", icon: <Clock /> };
  if (task?.source === "btw") return { label: "Side question", icon: <MessageCircleQuestion /> };
  if (task?.source === "callback") return { label: "Report from a child", icon: <CornerDownRight /> };
  if (task?.sourceSessionId || task?.source === "session") return { label: "From an agent", icon: <Bot /> };
  return { label: user ?? "You", icon: null };
}

/** Returns the name of a prompt's author, unless it is the person who uses this page. A prompt without a name is the
 * owner's. */
function useOther(user: string | undefined): string | undefined {
  const me = useMe().data?.name;
  const author = user ?? "owner";
  return me === undefined || author === me ? undefined : author;
}

function Sender({ task, user }: { task: Task | undefined; user: string | undefined }) {
  const { label, icon } = senderOf(task, useOther(user));
  const senderId = task?.sourceSessionId;
  return (
    <span className={css.mark}>
      {icon}
      {senderId ? <Link href={routes.session(senderId)}>{label}</Link> : label}
    </span>
  );
}

/** Returns an address for a fetched file, valid while the component is mounted. */
function useObjectUrl(file: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (!file) return;
    const created = URL.createObjectURL(file);
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [file]);
  return url;
}

function AttachedFile({ file }: { file: FileNote }) {
  const isImage = file.mimeType.startsWith("image/") && file.mimeType !== "image/svg+xml";
  const image = useQuery({ ...fileQuery(file.id), enabled: isImage }).data;
  const url = useObjectUrl(image);
  const open = () =>
    void runRequest(async () => openFile(await client.ensureQueryData(fileQuery(file.id)), file.name));
  return (
    <button type="button" className={css.file} title={file.name} onClick={open}>
      {isImage ? url && <img src={url} alt="" /> : <FileIcon aria-hidden />}
      <span className={css.fileName}>{file.name}</span>
      <span className={css.size}>{bytes(file.size)}</span>
    </button>
  );
}

export const Prompt = memo(function Prompt({ message, text }: { message: Message; text: string }) {
  const task = useTaskOf(message.taskId);
  const [open, toggle] = useFold(message.id);
  const shown = useMemo(() => foldLines(text, false, false, MAX_LINES), [text]);
  const long = shown.folded || text.length > MAX_LENGTH;
  const files = message.content.files ?? [];
  if (task && wasRemovedFromQueue(task))
    return (
      <Fold
        name={`${message.id} removed`}
        icon={<ListX />}
        line={`Removed from the queue: ${firstLine(text, 90)}`}
      >
        {() => <div className={css.text}>{text}</div>}
      </Fold>
    );
  return (
    <div className={css.prompt} data-agent={task?.sourceSessionId ? "" : undefined}>
      <div className={css.who}>
        <Sender task={task} user={message.content.user} />
      </div>
      <div className={css.text}>
        {long && !open ? `${shown.text.slice(0, MAX_LENGTH).trimEnd()} …` : text}
      </div>
      {long && (
        <Button variant="quiet" size="small" data-fold onClick={toggle}>
          {open ? "Show less" : shown.folded ? `Show all ${shown.lines} lines` : "Show all"}
        </Button>
      )}
      {files.length > 0 && (
        <div className={css.files}>
          {files.map((file) => (
            <AttachedFile key={file.id} file={file} />
          ))}
        </div>
      )}
    </div>
  );
});
