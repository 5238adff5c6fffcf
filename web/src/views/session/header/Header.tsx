/** The top of a session: what it is called, how it stands, where it comes from, what it has used, and what can be done. */
import { Bot, FolderGit2, GitBranch, GitFork, Network, PanelRight, TriangleAlert } from "lucide-react";
import { Link } from "wouter";
import type { Approval, Node, Session } from "@/api/types";
import { routes } from "@/app/routes";
import { money, tokens } from "@/lib/format";
import { isUnasked, KINDS, MODES, modeName, nameOf } from "@/lib/words";
import { IconButton } from "@/ui/controls/Button";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge, StateMark } from "@/ui/labels/Badge";
import type { Standing } from "../sessionState";
import { Gauge } from "./ContextGauge";
import css from "./Header.module.css";
import { MainActs } from "./HeaderActions";
import { SessionMenu } from "./SessionMenu";
import type { Act } from "./sessionActions";
import { Title } from "./Title";

interface Props {
  session: Session;
  /** All of its tree, for the names of its kin. */
  kin: Node[];
  approvals: Approval[];
  now: Standing;
  acts: Act[];
  panelOpen: boolean;
  onPanel: () => void;
}

export function Header({ session, kin, approvals, now, acts, panelOpen, onPanel }: Props) {
  const node = kin.find((one) => one.id === session.id);
  const stand = {
    status: session.status,
    activity: session.activity,
    queuePaused: session.queuePaused,
    queued: now.waiting.length,
    asking: approvals.length,
  };
  return (
    <header className={css.header}>
      <Kin session={session} kin={kin} />
      <div className={css.top}>
        <Title session={session} name={nameOf({ ...session, firstPrompt: node?.firstPrompt })} />
        <div className={css.acts}>
          <MainActs acts={acts} />
          <SessionMenu acts={acts} />
          <IconButton
            label={panelOpen ? "Hide side panel" : "Show side panel"}
            shortcut="p"
            aria-expanded={panelOpen}
            onClick={onPanel}
          >
            <PanelRight />
          </IconButton>
        </div>
      </div>
      <div className={css.meta}>
        <StateMark state={stand} showLabel />
        <AgentMark agent={session.agent} showName />
        <ModeBadge session={session} />
        {session.gitState?.branch && (
          <span className={css.fact} title={session.cwd}>
            {session.worktreeId ? <FolderGit2 aria-hidden /> : <GitBranch aria-hidden />}
            <span className="visually-hidden">{session.worktreeId ? "Worktree on branch" : "Branch"}</span>
            <span className={css.branch}>{session.gitState.branch}</span>
          </span>
        )}
        {node?.promptedByAgent && (
          <Badge icon={<Bot />} title="Its newest turn was caused by another session">
            Prompted by an agent
          </Badge>
        )}
        {session.archived && <Badge>Archived</Badge>}
        <span className={css.numbers}>
          <Gauge session={session} />
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
  const words = MODES.find((one) => one.mode === permissionMode)?.words;
  return isUnasked(permissionMode) ? (
    <Badge tone="waiting" icon={<TriangleAlert />} title={words}>
      {modeName(permissionMode)}
    </Badge>
  ) : (
    <Badge title={words}>{modeName(permissionMode)}</Badge>
  );
}

/** Where the session stands in its tree. A root that is alone says nothing. */
function Kin({ session, kin }: { session: Session; kin: Node[] }) {
  const link = (id: string) => (
    <Link href={routes.session(id)}>{nameOf(kin.find((one) => one.id === id) ?? { id, title: "" })}</Link>
  );
  const { kind, parentSessionId: parent, forkedFromSessionId: origin, rootSessionId: root } = session;
  if (kind === "root" && kin.length < 2) return null;
  // A fork of a child has the parent of its origin.
  const nearest = kind === "fork" ? (origin ?? parent) : parent;
  const further = kind === "fork" && parent !== nearest ? parent : null;
  return (
    <nav className={css.kin} aria-label="Kin">
      <Link href={routes.tree(session.id)} className={css.tree}>
        <Network aria-hidden /> Tree
      </Link>
      <Badge tone={kind === "btw" ? "btw" : "plain"} icon={kind === "fork" ? <GitFork /> : undefined}>
        {KINDS[kind]}
      </Badge>
      {nearest && <span className={css.relation}>of {link(nearest)}</span>}
      {further && <span className={css.relation}>child of {link(further)}</span>}
      {kind !== "root" && root !== nearest && root !== further && (
        <span className={css.relation}>in {link(root)}</span>
      )}
    </nav>
  );
}
