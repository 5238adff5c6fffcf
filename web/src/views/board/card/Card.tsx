/** The content of a card: a worktree, or a repository's main folder, with its sessions. */
import {
  Copy,
  EllipsisVertical,
  FileDiff,
  FolderGit2,
  FolderOpen,
  GitMerge,
  LayoutDashboard,
  MessageSquareCode,
  NotebookPen,
  Play,
  Plus,
  Terminal,
  Trash2,
  Wrench,
} from "lucide-react";
import { createContext, type ReactNode, useContext } from "react";
import { useLocation } from "wouter";
import { useChecks, useMay, useOverlaps } from "@/api/queries";
import type { Board, Card } from "@/api/types";
import { routes } from "@/app/routes";
import { copy } from "@/lib/clipboard";
import { EDITORS, type Editor, editorLink } from "@/lib/editorLink";
import { plural } from "@/lib/format";
import { usePref } from "@/lib/prefs";
import { Menu, MenuItem, MenuSeparator } from "@/ui/controls/Menu";
import { Badge } from "@/ui/labels/Badge";
import { ChecksBadge } from "@/views/finish/ChecksBadge";
import { RunBadges } from "@/views/runs/RunBadges";
import { openDrawer } from "@/views/terminal/drawer";
import css from "./Card.module.css";
import { SessionLines } from "./SessionLines";
import { visibleSessions } from "./visibleSessions";

export type CardAct = "diff" | "finish" | "notes" | "remove" | "run" | "setup";
/** The actions of cards. A context, so that cards render again only when their data changes. */
export interface CardActs {
  act: (what: CardAct, card: Card) => void;
  unfold: (card: Card) => void;
  /** The other boards, and moving a card to one of them. */
  boards: Board[];
  moveTo: (board: Board, card: Card) => void;
}
export const CardContext = createContext<CardActs>({
  act: () => undefined,
  unfold: () => undefined,
  boards: [],
  moveTo: () => undefined,
});

export const cardName = (card: Card) =>
  `${card.repo.name} · ${card.worktree ? (card.worktree.branch ?? card.worktree.name) : "main folder"}`;

/** Returns a path relative to its repository. */
const within = (path: string, repo: string) =>
  path.startsWith(`${repo}/`) ? path.slice(repo.length + 1) : path;

const STATES: Record<string, string> = {
  making: "Creating",
  setting_up: "Setting up",
  removing: "Removing",
  recovering: "Recovering",
};

export function CardHead({
  card,
  handle,
  level: Title = "h2",
}: {
  card: Card;
  handle?: ReactNode;
  level?: "h2" | "h3";
}) {
  const { worktree, repo } = card;
  const overlaps = useOverlaps(worktree?.id);
  const checks = useChecks(worktree?.id);
  return (
    <div className={css.head}>
      {handle}
      <div className={css.names}>
        <Title className={css.name} title={cardName(card)}>
          {worktree ? <FolderGit2 aria-hidden /> : <FolderOpen aria-hidden />}
          <span className={css.repo}>{repo.name}</span>
          <span className={css.branch}>
            {worktree ? (worktree.branch ?? worktree.name) : (repo.defaultBranch ?? "main folder")}
          </span>
        </Title>
        <div className={css.path} title={worktree?.path ?? repo.path}>
          {worktree && STATES[worktree.status] && <Badge tone="running">{STATES[worktree.status]}</Badge>}
          {worktree?.setupError && (
            <Badge tone="failed" title={worktree.setupError}>
              Setup failed
            </Badge>
          )}
          {checks && <ChecksBadge request={checks} />}
          <RunBadges worktreeId={worktree?.id} />
          {overlaps.length > 0 && (
            <Badge
              tone="waiting"
              title={overlaps.map(({ name, files }) => `${name}: ${files.join(", ")}`).join("\n")}
            >
              Overlaps {overlaps[0]?.name}
              {overlaps.length > 1 && ` +${overlaps.length - 1}`}
            </Badge>
          )}
          <bdi>{worktree ? within(worktree.path, repo.path) : repo.path}</bdi>
        </div>
      </div>
      <CardMenu card={card} />
    </div>
  );
}

function CardMenu({ card }: { card: Card }) {
  const { act, boards, moveTo } = useContext(CardContext);
  const [, navigate] = useLocation();
  const mayAdmin = useMay("admin");
  const [editor] = usePref<Editor>("editor", "vscode");
  const { worktree } = card;
  const folder = worktree?.path ?? card.repo.path;
  const link = editorLink(editor, folder);
  const here = new URLSearchParams(
    card.worktree ? { repo: card.repo.id, worktree: card.worktree.id } : { repo: card.repo.id },
  );
  return (
    <Menu
      trigger={
        <button
          type="button"
          aria-label={`Actions for ${cardName(card)}`}
          title="Actions"
          className={`${css.more} nodrag nopan`}
        >
          <EllipsisVertical aria-hidden />
        </button>
      }
    >
      <MenuItem icon={<Plus />} onSelect={() => navigate(`${routes.new}?${here}`)}>
        New session here
      </MenuItem>
      {boards.map((board) => (
        <MenuItem key={board.id} icon={<LayoutDashboard />} onSelect={() => moveTo(board, card)}>
          Move to {board.name}
        </MenuItem>
      ))}
      {worktree && (
        <MenuItem icon={<Play />} onSelect={() => act("run", card)}>
          Run…
        </MenuItem>
      )}
      {worktree && mayAdmin && (
        <MenuItem
          icon={<Terminal />}
          onSelect={() => openDrawer({ place: { worktreeId: worktree.id }, name: cardName(card) })}
        >
          Terminal
        </MenuItem>
      )}
      {link && (
        <MenuItem icon={<FolderOpen />} onSelect={() => window.open(link, "_self")}>
          Open in {EDITORS[editor]}
        </MenuItem>
      )}
      <MenuItem icon={<Copy />} onSelect={() => void copy(folder, "Path")}>
        Copy path
      </MenuItem>
      {card.worktree && (
        <>
          <MenuItem icon={<FileDiff />} onSelect={() => act("diff", card)}>
            Show changes
          </MenuItem>
          <MenuItem
            icon={<MessageSquareCode />}
            onSelect={() => card.worktree && navigate(routes.review("worktree", card.worktree.id))}
          >
            Review changes
          </MenuItem>
          <MenuItem icon={<GitMerge />} onSelect={() => act("finish", card)}>
            Finish work…
          </MenuItem>
          <MenuItem icon={<NotebookPen />} onSelect={() => act("notes", card)}>
            {card.worktree.notes ? "Edit notes" : "Add notes"}
          </MenuItem>
          <MenuItem icon={<Wrench />} onSelect={() => act("setup", card)}>
            Setup…
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={<Trash2 />} danger onSelect={() => act("remove", card)}>
            Remove worktree…
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

export function CardBody({ card, whole }: { card: Card; whole: boolean }) {
  const { unfold } = useContext(CardContext);
  const visible = visibleSessions(card.sessions, whole).length;
  const hidden = card.sessionsTotal - visible;
  const foldable = !whole && card.sessions.length > visible;
  return (
    <>
      {card.worktree?.notes && (
        <p className={css.notes} title={card.worktree.notes}>
          {card.worktree.notes}
        </p>
      )}
      {card.sessions.length > 0 ? (
        <SessionLines sessions={card.sessions} whole={whole} />
      ) : (
        <p className={css.none}>No sessions</p>
      )}
      {hidden > 0 &&
        (foldable ? (
          <button type="button" className={`${css.rest} nodrag nopan`} onClick={() => unfold(card)}>
            Show {plural(hidden, "more session")}
          </button>
        ) : (
          <p className={css.rest}>and {plural(hidden, "older session")}</p>
        ))}
    </>
  );
}
