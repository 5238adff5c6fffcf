/** The list of live sessions, grouped by repository: state, title, changed files, unread work and pins. */
import { ChevronRight, Pin, PinOff } from "lucide-react";
import { Link, useLocation } from "wouter";
import { pinSession, runRequest } from "@/api/actions";
import { client, sidebarQuery, useProgress, useSidebar } from "@/api/queries";
import { routes } from "@/app/routes";
import { plural } from "@/lib/format";
import { usePref } from "@/lib/prefs";
import { IconButton } from "@/ui/controls/Button";
import { Skeleton } from "@/ui/feedback/Placeholders";
import { StateMark } from "@/ui/labels/Badge";
import { groupSessions, type SessionGroup, type SidebarSession } from "./groupSessions";
import css from "./Sidebar.module.css";

export function SessionLinks({ onOpen }: { onOpen?: () => void }) {
  const sidebar = useSidebar().data;
  const files = new Map(useProgress().map((work) => [work.worktreeId, work.changedFiles]));
  if (!sidebar) return <Skeleton lines={4} />;
  const groups = groupSessions(sidebar.sessions);
  if (!groups.length) return <p className={css.none}>No live sessions.</p>;
  return (
    <>
      {groups.map((group) => (
        <Group key={group.id} group={group} files={files} onOpen={onOpen} />
      ))}
      {sidebar.more > 0 && (
        <Link href={routes.board} className={css.more} onClick={onOpen}>
          {sidebar.more} more on the board
        </Link>
      )}
    </>
  );
}

interface GroupProps {
  group: SessionGroup;
  files: ReadonlyMap<string, number>;
  onOpen?: () => void;
}

function Group({ group, files, onOpen }: GroupProps) {
  const [folded, setFolded] = usePref(`sidebar.folded.${group.id}`, false);
  return (
    <section className={css.group} aria-label={group.name}>
      <button
        type="button"
        className={css.groupHead}
        aria-expanded={!folded}
        onClick={() => setFolded(folded ? undefined : true)}
      >
        <ChevronRight aria-hidden className={folded ? undefined : css.open} />
        <span className={css.groupName}>{group.name}</span>
        {folded && (
          <span className={group.attention ? css.attention : css.size}>
            {group.attention || group.sessions.length}
            <span className="visually-hidden">{group.attention ? " need you" : " sessions"}</span>
          </span>
        )}
      </button>
      {!folded && (
        <ul>
          {group.sessions.map((session) => (
            <SessionLink
              key={session.id}
              session={session}
              files={session.worktreeId ? (files.get(session.worktreeId) ?? 0) : 0}
              onOpen={onOpen}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function SessionLink({
  session,
  files,
  onOpen,
}: {
  session: SidebarSession;
  files: number;
  onOpen?: () => void;
}) {
  const [location] = useLocation();
  const title = session.title || "Untitled session";
  const href = routes.session(session.id);
  const place = [session.repoName, session.branch].filter(Boolean).join(" · ");
  return (
    <li className={css.session}>
      <Link
        href={href}
        className={`${css.link} ${session.unread ? css.unread : ""}`}
        aria-current={location === href ? "page" : undefined}
        title={`${title}\n${place}`}
        onClick={onOpen}
      >
        <StateMark state={{ ...session, failed: session.unread && session.lastTask?.status === "failed" }} />
        <span className={css.title}>{title}</span>
        {files > 0 && (
          <span className={css.files} title={`${plural(files, "file")} changed`}>
            ±{files}
            <span className="visually-hidden"> {files === 1 ? "file" : "files"} changed</span>
          </span>
        )}
        {session.unread && (
          <span className={css.dot}>
            <span className="visually-hidden">unread</span>
          </span>
        )}
      </Link>
      <IconButton
        size="small"
        className={session.pinned ? css.pinned : css.pin}
        label={session.pinned ? `Unpin ${title}` : `Pin ${title}`}
        onClick={() => void runRequest(() => pin(session.id, !session.pinned))}
      >
        {session.pinned ? <PinOff /> : <Pin />}
      </IconButton>
    </li>
  );
}

/** Pins belong to a person, and no event reports them: the response is the new list. */
async function pin(sessionId: string, pinned: boolean): Promise<void> {
  const sidebar = await pinSession(sessionId, pinned);
  client.setQueryData(sidebarQuery.queryKey, sidebar);
}
