/** Shows one session beside the tree: its transcript, approvals and a prompt box. */
import { ArrowUpRight, GitBranchPlus, MessageSquareCode, Send, X } from "lucide-react";
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { promptSession, runRequest } from "@/api/actions";
import { useApprovals, useMay, useSession, useTasks } from "@/api/queries";
import type { Node, Session } from "@/api/types";
import { routes } from "@/app/routes";
import { money, plural, tokens } from "@/lib/format";
import { KIND_NAMES, sessionName } from "@/lib/words";
import { useTranscript } from "@/live/hooks";
import { Button, ButtonLink, IconButton } from "@/ui/controls/Button";
import { Input } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, StateMark } from "@/ui/labels/Badge";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import { toastMadeRoom } from "@/views/forms/layout/toastMadeRoom";
import { useDraft } from "@/views/session/composer/useDraft";
import { TranscriptView } from "@/views/session/transcript/TranscriptView";
import css from "./SessionDrawer.module.css";

interface SessionDrawerProps {
  node: Node;
  onClose: () => void;
  onSpawn: () => void;
}

export function SessionDrawer({ node, onClose, onSpawn }: SessionDrawerProps) {
  const query = useSession(node.id);
  const heading = useRef<HTMLHeadingElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs for each session
  useEffect(() => heading.current?.focus({ preventScroll: true }), [node.id]);
  return (
    <aside
      className={css.drawer}
      aria-label={sessionName(node)}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) onClose();
      }}
    >
      <header className={css.header}>
        <div className={css.line}>
          <StateMark state={node} showLabel />
          <AgentMark agent={node.agent} showName />
          {node.kind !== "root" && <Badge>{KIND_NAMES[node.kind]}</Badge>}
          <IconButton label="Close" size="small" onClick={onClose} className={css.close}>
            <X />
          </IconButton>
        </div>
        <h2 ref={heading} tabIndex={-1} className={css.title}>
          {sessionName(node)}
        </h2>
        <p className={css.facts}>
          {plural(node.turns, "turn")} · {tokens(node.tokens)} tokens · {money(node.cost)}
          {node.queued > 0 && ` · ${node.queued} queued`}
        </p>
        <div className={css.line}>
          <ButtonLink href={routes.session(node.id)} size="small" variant="primary" icon={<ArrowUpRight />}>
            Open
          </ButtonLink>
          <ButtonLink href={routes.review("session", node.id)} size="small" icon={<MessageSquareCode />}>
            Review
          </ButtonLink>
          <Button size="small" icon={<GitBranchPlus />} onClick={onSpawn}>
            New child
          </Button>
        </div>
      </header>
      <QueryResult query={query}>
        {(session) => <DrawerContent key={session.id} session={session} />}
      </QueryResult>
    </aside>
  );
}

function DrawerContent({ session }: { session: Session }) {
  const [, navigate] = useLocation();
  const transcript = useTranscript(session.id);
  const tasks = useTasks(session.id);
  const open = useCallback(() => navigate(routes.session(session.id)), [navigate, session.id]);
  const approvals = (useApprovals().data ?? []).filter((item) => item.sessionId === session.id);
  const readOnly = !useMay("operator");
  return (
    <>
      <div className={css.transcript}>
        <TranscriptView session={session} tasks={tasks.data ?? []} transcript={transcript} onFork={open} />
      </div>
      {approvals.length > 0 && (
        <div className={css.asked}>
          {approvals.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} cwd={session.cwd} readOnly={readOnly} />
          ))}
        </div>
      )}
      {!readOnly && <PromptLine session={session} />}
    </>
  );
}

function PromptLine({ session }: { session: Session }) {
  // Shares its draft with the session's own prompt box.
  const [text, setText] = useDraft(session.id);
  const [busy, setBusy] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (!text.trim()) return;
    setBusy(true);
    if (await runRequest(async () => toastMadeRoom(await promptSession(session.id, { text })))) setText("");
    setBusy(false);
  };
  const isBusy = session.activity === "running" || session.activity === "waiting_permission";
  return (
    <form className={css.prompt} onSubmit={send}>
      <Input
        aria-label={`Prompt for ${sessionName(session)}`}
        placeholder={isBusy ? "Add to the queue…" : "Enter a prompt…"}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" variant="primary" icon={<Send />} busy={busy} disabled={!text.trim()}>
        {isBusy ? "Queue" : "Send"}
      </Button>
    </form>
  );
}
