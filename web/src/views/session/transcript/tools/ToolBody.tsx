/** Shows a tool call in full: its edits, output, locations and arguments. */
import { useMemo } from "react";
import { Link } from "wouter";
import type { Message } from "@/api/types";
import { routes } from "@/app/routes";
import { Code } from "@/ui/code/Code";
import { TextDiff } from "@/ui/diff/DiffView";
import { Markdown } from "@/ui/markdown/Markdown";
import { ContentBlock } from "../messages/ContentBlock";
import { Fold } from "../messages/Fold";
import { useShortPath } from "../TranscriptContext";
import { CommandOutput } from "./CommandOutput";
import css from "./ToolCall.module.css";
import { editsOf, locationsOf, outputOf, sessionIdOf, type ToolState, terminalOf } from "./toolMessage";

const isEmpty = (value: unknown) =>
  value === null || value === undefined || (typeof value === "object" && !Object.keys(value).length);

const Json = ({ value }: { value: unknown }) => (
  <Code text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} language="json" />
);

export function ToolBody({ message, state }: { message: Message; state: ToolState }) {
  const { content } = message;
  const shortPath = useShortPath();
  const files = useMemo(() => editsOf(content), [content]);
  const terminal = useMemo(() => terminalOf(content), [content]);
  const { text, others } = useMemo(() => outputOf(content), [content]);
  const locations = locationsOf(content).filter(
    (location) => !files.some((file) => file.path === location.path),
  );
  const childId = sessionIdOf(content);
  const note = typeof content.result?.note === "string" ? content.result.note : "";
  const isPlain = !files.length && !terminal;
  return (
    <div className={css.body}>
      {note && <p className={css.note}>{note}</p>}
      {files.map((file, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same file may be edited twice by one call
        <TextDiff key={`${at}${file.path}`} {...file} path={shortPath(file.path)} />
      ))}
      {terminal && <CommandOutput terminal={terminal} running={state === "running"} />}
      {!terminal && text && <ToolText text={text} />}
      {others.map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks never move
        <ContentBlock key={at} block={block} />
      ))}
      {locations.length > 0 && (
        <ul className={css.places} aria-label="Locations">
          {locations.map(({ path, line }) => (
            <li key={`${path}:${line}`}>
              {shortPath(path)}
              {line !== undefined && `:${line}`}
            </li>
          ))}
        </ul>
      )}
      {childId && <Link href={routes.session(childId)}>Open session</Link>}
      {!isEmpty(content.args) && !terminal && (
        <Fold name={`${message.id} args`} variant="small" line="Arguments" startOpen={isPlain && !text}>
          {() => <Json value={content.args} />}
        </Fold>
      )}
      {isPlain && !isEmpty(content.result?.output) && (
        <Fold name={`${message.id} output`} variant="small" line="Raw output">
          {() => <Json value={content.result?.output} />}
        </Fold>
      )}
    </div>
  );
}

/** Shows a tool's text as JSON, Markdown or plain lines, whichever it looks like. */
function ToolText({ text }: { text: string }) {
  const trimmed = text.trim();
  if (/^[[{]/.test(trimmed))
    try {
      return <Json value={JSON.parse(trimmed)} />;
    } catch {}
  if (/^(#{1,6} |```|[-*] )/m.test(trimmed)) return <Markdown text={text} />;
  return <Code text={text} bare />;
}
