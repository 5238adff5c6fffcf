/** One session of the tree, read and answered without leaving the tree. */
import { ArrowUpRight, GitBranchPlus, Send, X } from "lucide-react";
import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { act, promptSession } from "@/api/actions";
import { useApprovals, useSession, useTasks } from "@/api/queries";
import type { Node, Session } from "@/api/types";
import { routes } from "@/app/routes";
import { money, plural, tokens } from "@/lib/format";
import { KINDS, nameOf } from "@/lib/words";
import { useTranscript } from "@/live/hooks";
import { Button, ButtonLink, IconButton } from "@/ui/controls/Button";
import { Input } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, StateMark } from "@/ui/labels/Badge";
import { ApprovalCard } from "@/views/approvals/ApprovalCard";
import { useDraft } from "@/views/session/composer/useDraft";
import { TranscriptView } from "@/views/session/transcript/TranscriptView";
import css from "./SessionDrawer.module.css";

interface DrawerProps {
  node: Node;
  onClose: () => void;
  onSpawn: () => void;
}

export function Drawer({ node, onClose, onSpawn }: DrawerProps) {
  const query = useSession(node.id);
  const heading = useRef<HTMLHeadingElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another session is another thing to read
  useEffect(() => heading.current?.focus({ preventScroll: true }), [node.id]);
  return (
    <aside
      className={css.drawer}
      aria-label={nameOf(node)}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) onClose();
      }}
    >
      <header className={css.header}>
        <div className={css.line}>
          <StateMark state={node} showLabel />
          <AgentMark agent={node.agent} showName />
          {node.kind !== "root" && <Badge>{KINDS[node.kind]}</Badge>}
          <IconButton label="Close" size="small" onClick={onClose} className={css.close}>
            <X />
          </IconButton>
        </div>
        <h2 ref={heading} tabIndex={-1} className={css.title}>
          {nameOf(node)}
        </h2>
        <p className={css.facts}>
          {plural(node.turns, "turn")} · {tokens(node.tokens)} tokens · {money(node.cost)}
          {node.queued > 0 && ` · ${node.queued} in its queue`}
        </p>
        <div className={css.line}>
          <ButtonLink href={routes.session(node.id)} size="small" look="primary" icon={<ArrowUpRight />}>
            Open
          </ButtonLink>
          <Button size="small" icon={<GitBranchPlus />} onClick={onSpawn}>
            New child
          </Button>
        </div>
      </header>
      <QueryResult query={query}>{(session) => <Read key={session.id} session={session} />}</QueryResult>
    </aside>
  );
}

function Read({ session }: { session: Session }) {
  const [, navigate] = useLocation();
  const transcript = useTranscript(session.id);
  const tasks = useTasks(session.id);
  const open = useCallback(() => navigate(routes.session(session.id)), [navigate, session.id]);
  const asked = (useApprovals().data ?? []).filter((one) => one.sessionId === session.id);
  return (
    <>
      <div className={css.transcript}>
        <TranscriptView session={session} tasks={tasks.data ?? []} transcript={transcript} onFork={open} />
      </div>
      {asked.length > 0 && (
        <div className={css.asked}>
          {asked.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} cwd={session.cwd} />
          ))}
        </div>
      )}
      <PromptLine session={session} />
    </>
  );
}

function PromptLine({ session }: { session: Session }) {
  // The same draft as in the session's own box: going to another session does not lose it.
  const [text, setText] = useDraft(session.id);
  const [busy, setBusy] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (!text.trim()) return;
    setBusy(true);
    if (await act(() => promptSession(session.id, { text }))) setText("");
    setBusy(false);
  };
  const waits = session.activity === "running" || session.activity === "waiting_permission";
  return (
    <form className={css.prompt} onSubmit={send}>
      <Input
        aria-label={`Prompt for ${nameOf(session)}`}
        placeholder={waits ? "Add to its queue…" : "Say what to do next…"}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" look="primary" icon={<Send />} busy={busy} disabled={!text.trim()}>
        {waits ? "Queue" : "Send"}
      </Button>
    </form>
  );
}
