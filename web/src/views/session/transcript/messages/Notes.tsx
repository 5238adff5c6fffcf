/** Shows messages beside the conversation itself: children's reports, side questions, errors and notices. */
import {
  Braces,
  CircleSlash,
  CircleX,
  CornerDownRight,
  Flag,
  Info,
  MessageCircleQuestion,
  Undo2,
  Wrench,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { restoreCheckpoint, runRequest } from "@/api/actions";
import type { Message } from "@/api/types";
import { routes } from "@/app/routes";
import { firstLine, plainText, shortId } from "@/lib/format";
import { endedEarly, TASK_STATUS_NAMES } from "@/lib/words";
import { Code } from "@/ui/code/Code";
import { Button } from "@/ui/controls/Button";
import { toast } from "@/ui/feedback/toast";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, type Tone } from "@/ui/labels/Badge";
import { Markdown } from "@/ui/markdown/Markdown";
import { Fold } from "./Fold";
import css from "./Notes.module.css";

type Props = { message: Message };
const text = (value: unknown) => (typeof value === "string" ? value : "");

const TONES: Record<string, Tone> = { completed: "done", failed: "failed", cancelled: "plain" };
function StatusBadge({ status }: { status: string }) {
  return (
    <Badge tone={TONES[status] ?? "running"}>
      {TASK_STATUS_NAMES[status as keyof typeof TASK_STATUS_NAMES] ?? status}
    </Badge>
  );
}

/** Shows a child's report to this session. */
export function ChildReport({ message: { id, content } }: Props) {
  const child = text(content.sessionId);
  const report = text(content.text);
  const lastMessage = text(content.lastMessage);
  return (
    <section className={css.card}>
      <div className={css.head}>
        <CornerDownRight aria-hidden />
        <span>
          Report from <Link href={routes.session(child)}>{text(content.title) || "a child"}</Link>
        </span>
        {text(content.agent) && <AgentMark agent={text(content.agent)} />}
        {endedEarly(content.stopReason) ? (
          <Badge tone="waiting">Ended early</Badge>
        ) : (
          <StatusBadge status={text(content.status)} />
        )}
      </div>
      {lastMessage && (
        <Fold
          name={`${id} last`}
          variant="small"
          line={`Last message: ${firstLine(plainText(lastMessage), 90)}`}
        >
          {() => <Markdown text={lastMessage} />}
        </Fold>
      )}
      <Fold name={id} variant="small" line="Full report">
        {() => <Code text={report} bare />}
      </Fold>
    </section>
  );
}

/** Shows a side question and its answer. */
export function SideQuestion({ message: { content } }: Props) {
  return (
    <section className={`${css.card} ${css.sideQuestion}`}>
      <div className={css.head}>
        <MessageCircleQuestion aria-hidden />
        <span>
          <Link href={routes.session(text(content.sessionId))}>Side question</Link>
        </span>
        {content.status !== "completed" && <StatusBadge status={text(content.status)} />}
      </div>
      <p className={css.question}>{text(content.question)}</p>
      {text(content.text) && <Markdown text={text(content.text)} />}
    </section>
  );
}

/** Shows the result of a tool call that waited for approval. */
export function CallResult({ message: { id, content } }: Props) {
  return (
    <Fold
      name={id}
      icon={<Wrench />}
      line={`Result of ${text(content.tool)}: ${firstLine(text(content.text), 100)}`}
    >
      {() => <Markdown text={text(content.text)} />}
    </Fold>
  );
}

const ICONS: Record<string, ReactNode> = { error: <CircleX />, cancelled: <CircleSlash />, notice: <Info /> };

const ID = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/;

/** Replaces ids by their short forms. */
const withShortIds = (words: string): ReactNode =>
  words.split(ID).map((piece, index) =>
    index % 2 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text never move
      <code key={index} title={piece}>
        {shortId(piece)}
      </code>
    ) : (
      piece
    ),
  );

/** Undoes a restore of files. */
function Undo({ checkpointId }: { checkpointId: string }) {
  const [busy, setBusy] = useState(false);
  const undo = async () => {
    setBusy(true);
    if (await runRequest(() => restoreCheckpoint(checkpointId))) toast("Restore undone.");
    setBusy(false);
  };
  return (
    <Button size="small" busy={busy} className={css.undo} onClick={() => void undo()}>
      Undo
    </Button>
  );
}

/** Shows what helps to report an error: its code and the agent's last output. */
function ErrorDetails({ name, content }: { name: string; content: Message["content"] }) {
  const details = [text(content.code) && `Error code: ${text(content.code)}`, text(content.stderr)]
    .filter(Boolean)
    .join("\n\n");
  return details ? (
    <Fold name={name} variant="small" line="Details">
      {() => <Code text={details} bare />}
    </Fold>
  ) : null;
}

interface KeptRacer {
  raceId: string;
  sessionId: string;
  name: string;
  /** What became of its work: "merged into main". */
  outcome: string;
}

/** Tells which racer was kept, with a link to it. */
function KeptWords({ racer }: { racer: KeptRacer }) {
  return (
    <>
      The work of <Link href={routes.session(racer.sessionId)}>{withShortIds(racer.name)}</Link> was kept,{" "}
      {racer.outcome}.
    </>
  );
}

export function Notice({ message: { id, content } }: Props) {
  // The link has the race's id.
  const words = content.race ? text(content.text).replace(` (${id})`, "") : text(content.text);
  const checkpoint = text(content.undoCheckpointId);
  const racer = content.kept as KeptRacer | undefined;
  const race = racer?.raceId ?? (content.race ? id : undefined);
  return (
    <div
      className={css.note}
      data-kind={endedEarly(content.stopReason) ? "early" : content.type}
      role={content.type === "error" ? "alert" : undefined}
    >
      <span aria-hidden>{checkpoint ? <Undo2 /> : race ? <Flag /> : ICONS[content.type]}</span>
      <div className={css.words}>
        {racer ? <KeptWords racer={racer} /> : withShortIds(words)}
        {checkpoint && <Undo checkpointId={checkpoint} />}
        {race && (
          <Link href={routes.race(race)} className={css.link}>
            View race
          </Link>
        )}
        {content.type === "error" && <ErrorDetails name={`${id} details`} content={content} />}
      </div>
    </div>
  );
}

/** Shows a message of an unknown type as JSON. */
export function UnknownMessage({ message: { id, content } }: Props) {
  const name = content.type === "update" ? text(content.kind) : content.type;
  return (
    <Fold name={id} icon={<Braces />} line={`Other: ${name}`}>
      {() => <Code text={JSON.stringify(content, null, 2)} language="json" />}
    </Fold>
  );
}
