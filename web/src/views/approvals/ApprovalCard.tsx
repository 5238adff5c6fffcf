/** One question to the person, with what it is about and the answers. A question that was answered meanwhile says by whom. */
import { Hand } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { Link } from "wouter";
import { answerApproval } from "@/api/actions";
import type { Answer, Approval } from "@/api/types";
import { routes } from "@/app/routes";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Time } from "@/ui/labels/Time";
import { Answers } from "./AnswerButtons";
import css from "./ApprovalCard.module.css";
import { ApprovalSubject } from "./ApprovalSubject";
import { answersOf, inWords, wordsOf } from "./approvalDetails";
import { Countdown } from "./Countdown";
import { answeredHere, Decided } from "./DecidedApproval";

/** The lists of the start page name the session as well. */
type Asked = Approval & { sessionTitle?: string; agent?: string; cwd?: string };

interface Props {
  approval: Asked;
  showSession?: boolean;
  /** The session's folder: paths in it are shown as seen from there. */
  cwd?: string;
}

export function ApprovalCard({ approval, showSession = false, cwd = approval.cwd }: Props) {
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [open, setOpen] = useState<"because" | "arguments" | null>(null);
  const card = useRef<HTMLDivElement>(null);
  if (approval.status !== "pending") return <Decided approval={approval} />;

  const words = wordsOf(approval);
  const takes = answersOf(approval);
  const answer = async (which: string, body: Answer) => {
    if (busy) return;
    setBusy(which);
    setError(null);
    answeredHere.add(approval.id);
    const focused = card.current?.contains(document.activeElement);
    try {
      await answerApproval(approval.id, body);
      // The card goes; whoever answers by keys goes on with the next question.
      const next = document.querySelector<HTMLElement>(
        `[data-approval]:not([data-approval="${approval.id}"])`,
      );
      if (focused) (next ?? document.getElementById("main"))?.focus();
    } catch (refused) {
      answeredHere.delete(approval.id);
      setError(refused instanceof Error ? refused.message : String(refused));
      setBusy(null);
    }
  };
  const onKey = (event: KeyboardEvent) => {
    // A key that is held down answers one question, not the next ones as well.
    if (event.target !== card.current || event.repeat) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // By the Shift key and not by the letter: with Caps Lock, every letter is a capital.
    const run = {
      a: takes.ways.length ? null : () => answer("allow", { decision: "allow" }),
      "shift+a": takes.always ? () => answer("always", { decision: "allow_always", scope: "session" }) : null,
      d: () => answer("deny", { decision: "deny" }),
    }[`${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`];
    if (!run) return;
    event.preventDefault();
    void run();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for inputs; this is a question with its answers
    <div
      ref={card}
      role="group"
      aria-label={`${words.about}: ${approval.title}`}
      className={css.card}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: with focus on the card, single keys answer it
      tabIndex={0}
      onKeyDown={onKey}
      data-approval={approval.id}
      data-testid="approval"
    >
      <header className={css.head}>
        <Hand aria-hidden className={css.hand} />
        <h3 className={css.about}>{words.about}</h3>
        <span className={css.when}>
          <Time at={approval.createdAt} />
        </span>
      </header>
      {showSession && (
        <p className={css.session}>
          {approval.agent && <AgentMark agent={approval.agent} />}
          <Link href={routes.session(approval.sessionId)}>{approval.sessionTitle || "Untitled session"}</Link>
        </p>
      )}
      <ApprovalSubject approval={approval} cwd={cwd} brief={open === "arguments"} />
      {approval.reason && <p className={css.reason}>{inWords(approval.reason)}</p>}
      {approval.expiresAt && <Countdown at={approval.expiresAt} then={approval.onExpiry} />}
      {error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
      <Answers
        approval={approval}
        takes={takes}
        words={words}
        busy={busy}
        open={open}
        setOpen={setOpen}
        answer={answer}
      />
    </div>
  );
}
