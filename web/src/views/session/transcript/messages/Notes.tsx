/** What stands in a transcript besides the conversation itself: reports of children, asides, errors and notices. */
import {
  Braces,
  CircleSlash,
  CircleX,
  CornerDownRight,
  Info,
  MessageCircleQuestion,
  Undo2,
  Wrench,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { act, restoreCheckpoint } from "@/api/actions";
import type { Message } from "@/api/types";
import { routes } from "@/app/routes";
import { firstLine, shortId } from "@/lib/format";
import { TASKS } from "@/lib/words";
import { Code } from "@/ui/code/Code";
import { Button } from "@/ui/controls/Button";
import { toast } from "@/ui/feedback/toast";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, type Tone } from "@/ui/labels/Badge";
import { Markdown } from "@/ui/markdown/Markdown";
import { lastMessageOf } from "../tools/toolMessage";
import { Fold } from "./Fold";
import css from "./Notes.module.css";

type Given = { message: Message };
const text = (value: unknown) => (typeof value === "string" ? value : "");

const TONES: Record<string, Tone> = { completed: "done", failed: "failed", cancelled: "plain" };
function StatusBadge({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? "running"}>{TASKS[status as keyof typeof TASKS] ?? status}</Badge>;
}

/** A child's report to this session. */
export function ChildReport({ message: { id, content } }: Given) {
  const child = text(content.sessionId);
  const report = text(content.text);
  const own = lastMessageOf(report);
  return (
    <section className={css.card}>
      <div className={css.head}>
        <CornerDownRight aria-hidden />
        <span>
          Report of <Link href={routes.session(child)}>{text(content.title) || "a child"}</Link>
        </span>
        {text(content.agent) && <AgentMark agent={text(content.agent)} />}
        <StatusBadge status={text(content.status)} />
      </div>
      {own !== null && (
        <Fold
          name={`${id} last`}
          look="small"
          line={`Its last message: ${firstLine(own.replaceAll(/[*_`#]/g, ""), 90)}`}
        >
          {() => <Markdown text={own} />}
        </Fold>
      )}
      <Fold name={id} look="small" line="The report as the agent reads it">
        {() => <Code text={report} bare />}
      </Fold>
    </section>
  );
}

/** A question beside the work, and its answer. */
export function Aside({ message: { content } }: Given) {
  return (
    <section className={`${css.card} ${css.aside}`}>
      <div className={css.head}>
        <MessageCircleQuestion aria-hidden />
        <span>
          <Link href={routes.session(text(content.sessionId))}>Aside</Link>
        </span>
        {content.status !== "completed" && <StatusBadge status={text(content.status)} />}
      </div>
      <p className={css.question}>{text(content.question)}</p>
      {text(content.text) && <Markdown text={text(content.text)} />}
    </section>
  );
}

/** What came of a call that waited for a person. */
export function Outcome({ message: { id, content } }: Given) {
  return (
    <Fold
      name={id}
      icon={<Wrench />}
      line={`Outcome of ${text(content.tool)}: ${firstLine(text(content.text), 100)}`}
    >
      {() => <Markdown text={text(content.text)} />}
    </Fold>
  );
}

const NOTES: Record<string, ReactNode> = { error: <CircleX />, cancelled: <CircleSlash />, notice: <Info /> };

const ID = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/;

/** Ids are for looking up, not for reading: their ends will do. */
const shortened = (words: string): ReactNode =>
  words.split(ID).map((piece, at) =>
    at % 2 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text never change their places
      <code key={at} title={piece}>
        {shortId(piece)}
      </code>
    ) : (
      piece
    ),
  );

/** Takes back a restore of files, which the notice of it offers. */
function Undo({ checkpointId }: { checkpointId: string }) {
  const [busy, setBusy] = useState(false);
  const undo = async () => {
    setBusy(true);
    if (await act(() => restoreCheckpoint(checkpointId))) toast("The files are as they were.");
    setBusy(false);
  };
  return (
    <Button size="small" busy={busy} className={css.undo} onClick={() => void undo()}>
      Undo
    </Button>
  );
}

export function Note({ message: { content } }: Given) {
  const words = text(content.text);
  const checkpoint = words.match(new RegExp(`Checkpoint ${ID.source} undoes this`))?.[1];
  return (
    <div className={css.note} data-kind={content.type} role={content.type === "error" ? "alert" : undefined}>
      <span aria-hidden>{checkpoint ? <Undo2 /> : NOTES[content.type]}</span>
      <div className={css.words}>
        {shortened(words)}
        {checkpoint && <Undo checkpointId={checkpoint} />}
        {content.type === "error" && text(content.code) && (
          <code className={css.code}>{text(content.code)}</code>
        )}
      </div>
    </div>
  );
}

/** A kind that this page does not know: the JSON that it is. */
export function Other({ message: { id, content } }: Given) {
  const name = content.type === "update" ? text(content.kind) : content.type;
  return (
    <Fold name={id} icon={<Braces />} line={`Something else: ${name}`}>
      {() => <Code text={JSON.stringify(content, null, 2)} language="json" />}
    </Fold>
  );
}
