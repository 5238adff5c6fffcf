/** A session's header: title, state, origin, usage and actions. */
import {
  Bot,
  FolderGit2,
  GitBranch,
  GitFork,
  Network,
  PanelRight,
  ShieldOff,
  TriangleAlert,
} from "lucide-react";
import { Link } from "wouter";
import type { Approval, Node, Session } from "@/api/types";
import { routes } from "@/app/routes";
import { money, tokens } from "@/lib/format";
import { KIND_NAMES, MODES, modeName, neverAsks, sessionName } from "@/lib/words";
import { IconButton } from "@/ui/controls/Button";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, StateMark } from "@/ui/labels/Badge";
import type { SessionState } from "../sessionState";
import { ContextGauge } from "./ContextGauge";
import css from "./Header.module.css";
import { HeaderActions } from "./HeaderActions";
import { SessionMenu } from "./SessionMenu";
import type { SessionAction } from "./sessionActions";
import { Title } from "./Title";

interface Props {
  session: Session;
  /** All sessions of its tree, for the names of related ones. */
  treeSessions: Node[];
  approvals: Approval[];
  state: SessionState;
  actions: SessionAction[];
  isPanelOpen: boolean;
  onPanel: () => void;
}

export function Header({ session, treeSessions, approvals, state, actions, isPanelOpen, onPanel }: Props) {
  const node = treeSessions.find(({ id }) => id === session.id);
  const markState = {
    status: session.status,
    activity: session.activity,
    stuck: session.stuck,
    queuePaused: session.queuePaused,
    queued: state.queue.length,
    asking: approvals.length,
    failed: state.failed,
  };
  return (
    <header className={css.header}>
      <RelatedSessions session={session} treeSessions={treeSessions} />
      <div className={css.top}>
        <Title session={session} name={sessionName({ ...session, firstPrompt: node?.firstPrompt })} />
        <div className={css.actions}>
          <HeaderActions actions={actions} />
          <SessionMenu actions={actions} />
          <IconButton
            label={isPanelOpen ? "Hide side panel" : "Show side panel"}
            shortcut="p"
            aria-expanded={isPanelOpen}
            onClick={onPanel}
          >
            <PanelRight />
          </IconButton>
        </div>
      </div>
      <div className={css.meta}>
        <StateMark state={markState} showLabel />
        <AgentMark agent={session.agent} showName />
        <ModeBadge session={session} />
        {session.confinement === "unconfined" && (
          <Badge tone="waiting" icon={<ShieldOff />} title={session.unconfinedReason ?? undefined}>
            Unconfined
          </Badge>
        )}
        {session.confinement !== "unconfined" && session.unconfinedReason && (
          <Badge tone="waiting" icon={<ShieldOff />} title={session.unconfinedReason}>
            Network not limited
          </Badge>
        )}
        {session.gitState?.branch && (
          <span className={css.fact} title={session.cwd}>
            {session.worktreeId ? <FolderGit2 aria-hidden /> : <GitBranch aria-hidden />}
            <span className="visually-hidden">{session.worktreeId ? "Worktree on branch" : "Branch"}</span>
            <span className={css.branch}>{session.gitState.branch}</span>
          </span>
        )}
        {node?.promptedByAgent && (
          <Badge icon={<Bot />} title="Another session sent the latest prompt">
            Prompted by an agent
          </Badge>
        )}
        {session.archived && <Badge>Archived</Badge>}
        <span className={css.numbers}>
          <ContextGauge session={session} />
          {session.tokens > 0 && (
            <span title={`${session.tokens.toLocaleString()} tokens in ${session.turns} turns`}>
              {tokens(session.tokens)} tokens
            </span>
          )}
          {session.spent > 0 && (
            <span title={`Cost so far: ${session.spent.toFixed(6)}`}>
              {money(session.spent, session.cost?.currency)}
            </span>
          )}
        </span>
      </div>
    </header>
  );
}

function ModeBadge({ session: { permissionMode } }: { session: Session }) {
  const description = MODES.find(({ mode }) => mode === permissionMode)?.description;
  return neverAsks(permissionMode) ? (
    <Badge tone="waiting" icon={<TriangleAlert />} title={description}>
      {modeName(permissionMode)}
    </Badge>
  ) : (
    <Badge title={description}>{modeName(permissionMode)}</Badge>
  );
}

/** Shows where the session stands in its tree; nothing for a root without children. */
function RelatedSessions({ session, treeSessions }: { session: Session; treeSessions: Node[] }) {
  const link = (id: string) => (
    <Link href={routes.session(id)}>
      {sessionName(treeSessions.find((node) => node.id === id) ?? { id, title: "" })}
    </Link>
  );
  const { kind, parentSessionId: parent, forkedFromSessionId: origin, rootSessionId: root } = session;
  if (kind === "root" && treeSessions.length < 2) return null;
  // A fork of a child has the same parent as its origin.
  const nearest = kind === "fork" ? (origin ?? parent) : parent;
  const otherParent = kind === "fork" && parent !== nearest ? parent : null;
  return (
    <nav className={css.related} aria-label="Related sessions">
      <Link href={routes.tree(session.id)} className={css.tree}>
        <Network aria-hidden /> View tree
      </Link>
      <Badge tone={kind === "btw" ? "btw" : "plain"} icon={kind === "fork" ? <GitFork /> : undefined}>
        {KIND_NAMES[kind]}
      </Badge>
      {nearest && <span className={css.relation}>of {link(nearest)}</span>}
      {otherParent && <span className={css.relation}>child of {link(otherParent)}</span>}
      {kind !== "root" && root !== nearest && root !== otherParent && (
        <span className={css.relation}>in {link(root)}</span>
      )}
    </nav>
  );
}
