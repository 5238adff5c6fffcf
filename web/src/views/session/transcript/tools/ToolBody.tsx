/** What a tool was asked, what it changed, what it printed. */
import { useMemo } from "react";
import { Link } from "wouter";
import type { Message } from "@/api/types";
import { routes } from "@/app/routes";
import { Code } from "@/ui/code/Code";
import { TextDiff } from "@/ui/diff/DiffView";
import { Markdown } from "@/ui/markdown/Markdown";
import { Block } from "../messages/ContentBlock";
import { Fold } from "../messages/Fold";
import { useShortPath } from "../TranscriptContext";
import { Output } from "./CommandOutput";
import css from "./ToolCall.module.css";
import { edits, places, said, sessionOf, type ToolState, terminalOf } from "./toolMessage";

const isEmpty = (value: unknown) =>
  value === null || value === undefined || (typeof value === "object" && !Object.keys(value).length);

const Json = ({ value }: { value: unknown }) => (
  <Code text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} language="json" />
);

export function ToolBody({ message, state }: { message: Message; state: ToolState }) {
  const { content } = message;
  const short = useShortPath();
  const files = useMemo(() => edits(content), [content]);
  const terminal = useMemo(() => terminalOf(content), [content]);
  const { text, others } = useMemo(() => said(content), [content]);
  const where = places(content).filter((one) => !files.some((file) => file.path === one.path));
  const child = sessionOf(content);
  const note = [content.result?.note, (content.permission as { reason?: string } | undefined)?.reason]
    .filter(
      (one): one is string => typeof one === "string" && (state === "denied" || one === content.result?.note),
    )
    .join(" ");
  const bare = !files.length && !terminal;
  return (
    <div className={css.body}>
      {note && <p className={css.note}>{note}</p>}
      {files.map((file, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same file may be edited twice by one call
        <TextDiff key={`${at}${file.path}`} {...file} path={short(file.path)} />
      ))}
      {terminal && <Output terminal={terminal} running={state === "running"} />}
      {!terminal && text && <Words text={text} />}
      {others.map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks never change their places
        <Block key={at} block={block} />
      ))}
      {where.length > 0 && (
        <ul className={css.places} aria-label="Places">
          {where.map(({ path, line }) => (
            <li key={`${path}:${line}`}>
              {short(path)}
              {line !== undefined && `:${line}`}
            </li>
          ))}
        </ul>
      )}
      {child && <Link href={routes.session(child)}>Open the session</Link>}
      {!isEmpty(content.args) && !terminal && (
        <Fold name={`${message.id} args`} look="small" line="Arguments" first={bare && !text}>
          {() => <Json value={content.args} />}
        </Fold>
      )}
      {bare && !isEmpty(content.result?.output) && (
        <Fold name={`${message.id} output`} look="small" line="Raw output">
          {() => <Json value={content.result?.output} />}
        </Fold>
      )}
    </div>
  );
}

/** Some tools answer in Markdown, some in JSON, most in plain lines. */
function Words({ text }: { text: string }) {
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed))
    try {
      return <Json value={JSON.parse(trimmed)} />;
    } catch {}
  if (/^(#{1,6} |```|[-*] )/m.test(trimmed)) return <Markdown text={text} />;
  return <Code text={text} bare />;
}
