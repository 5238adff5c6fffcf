/** Shows a pending approval with its details and answers, or a decided one with its decision. */
import { Hand } from "lucide-react";
import { type KeyboardEvent, useRef, useState } from "react";
import { Link } from "wouter";
import { answerApproval } from "@/api/actions";
import { ApiError } from "@/api/client";
import type { Answer, Approval } from "@/api/types";
import { routes } from "@/app/routes";
import { useWhenLive } from "@/live/hooks";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Time } from "@/ui/labels/Time";
import { AnswerButtons, type AnswerForm } from "./AnswerButtons";
import css from "./ApprovalCard.module.css";
import { ApprovalSubject } from "./ApprovalSubject";
import { answersOf, approvalLabels, reasonText } from "./approvalDetails";
import { Countdown } from "./Countdown";
import { DecidedApproval, decidedOnThisPage } from "./DecidedApproval";
import { QuestionForm } from "./QuestionForm";
import { isQuestion } from "./questionForm";

/** Lists across sessions also name the session. */
type ListedApproval = Approval & { sessionTitle?: string; agent?: string; cwd?: string };

interface Props {
  approval: ListedApproval;
  showSession?: boolean;
  /** The session's folder; paths inside it are shortened. */
  cwd?: string;
  /** Whether the person may only read it. */
  readOnly?: boolean;
}

export function ApprovalCard({ approval, showSession = false, cwd = approval.cwd, readOnly = false }: Props) {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const [openForm, setOpenForm] = useState<AnswerForm | null>(null);
  useWhenLive(() => error instanceof ApiError && error.code === "offline" && setError(null));
  const card = useRef<HTMLDivElement>(null);
  if (approval.status !== "pending") return <DecidedApproval approval={approval} />;

  const labels = approvalLabels(approval);
  const options = answersOf(approval);
  const answer = async (which: string, body: Answer) => {
    if (busy) return;
    setBusy(which);
    setError(null);
    decidedOnThisPage.add(approval.id);
    const focused = card.current?.contains(document.activeElement);
    try {
      await answerApproval(approval.id, body);
      // The card disappears; keyboard users continue with the next approval.
      const next = document.querySelector<HTMLElement>(
        `[data-approval]:not([data-approval="${approval.id}"])`,
      );
      if (focused) (next ?? document.getElementById("main"))?.focus();
    } catch (caught) {
      decidedOnThisPage.delete(approval.id);
      setError(caught);
      setBusy(null);
    }
  };
  const onKey = (event: KeyboardEvent) => {
    // A key that is held down must not answer the next approvals as well.
    if (event.target !== card.current || event.repeat || readOnly) return;
    if (event.ctrlKey || event.metaKey || event.altKey || isQuestion(approval)) return;
    // The same letters as in the terminal, also with Caps Lock.
    const run = {
      y: options.alternatives.length ? null : () => answer("allow", { decision: "allow" }),
      a: options.canAllowAlways
        ? () => answer("always", { decision: "allow_always", scope: "session" })
        : null,
      n: () => answer("deny", { decision: "deny" }),
    }[event.key.toLowerCase()];
    if (!run) return;
    event.preventDefault();
    void run();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for inputs; this groups a question and its answers
    <div
      ref={card}
      role="group"
      aria-label={`${labels.title}: ${approval.title}`}
      className={css.card}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: with focus on the card, single keys answer it
      tabIndex={0}
      onKeyDown={onKey}
      data-approval={approval.id}
      data-item={showSession || undefined}
      data-testid="approval"
    >
      <header className={css.head}>
        <Hand aria-hidden className={css.hand} />
        <h3 className={css.about}>{labels.title}</h3>
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
      {isQuestion(approval) ? (
        <QuestionForm approval={approval} busy={busy} error={error} readOnly={readOnly} answer={answer} />
      ) : (
        <ApprovalSubject approval={approval} cwd={cwd} brief={openForm === "arguments"} />
      )}
      {approval.reason && !isQuestion(approval) && (
        <p className={css.reason}>{reasonText(approval.reason)}</p>
      )}
      {approval.expiresAt && <Countdown until={approval.expiresAt} then={approval.onExpiry} />}
      {error !== null && (
        <p className={css.error} role="alert">
          {error instanceof Error ? error.message : String(error)}
        </p>
      )}
      {readOnly ? (
        <p className={css.reason}>Only operators and admins can answer.</p>
      ) : (
        !isQuestion(approval) && (
          <AnswerButtons
            approval={approval}
            options={options}
            labels={labels}
            busy={busy}
            openForm={openForm}
            setOpenForm={setOpenForm}
            answer={answer}
          />
        )
      )}
    </div>
  );
}
