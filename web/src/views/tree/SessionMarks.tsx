/** Small icons of a session: kind, queue, prompted by an agent, unread, own worktree. */
import { Bot, CornerDownRight, FolderGit2, GitFork, MailWarning, MessageCircleQuestion } from "lucide-react";
import type { ReactNode } from "react";
import type { Kind, Node } from "@/api/types";
import css from "./SessionMarks.module.css";

const KIND_ICONS: Record<Kind, ReactNode> = {
  root: null,
  fork: <GitFork />,
  subsession: <CornerDownRight />,
  btw: <MessageCircleQuestion />,
};
const KIND_WORDS: Record<Kind, string> = {
  root: "",
  fork: "Fork",
  subsession: "Child",
  btw: "Side question",
};

const Mark = ({ words, children, tone = "" }: { words: string; children: ReactNode; tone?: string }) => (
  <span className={`${css.mark} ${tone}`} title={words}>
    <span aria-hidden>{children}</span>
    <span className="visually-hidden">{words}</span>
  </span>
);

export const KindMark = ({ kind }: { kind: Kind }) =>
  kind === "root" ? null : (
    <Mark words={KIND_WORDS[kind]} tone={css[kind] ?? ""}>
      {KIND_ICONS[kind]}
    </Mark>
  );

export type MarkedSession = Pick<Node, "unread" | "queued" | "held" | "promptedByAgent" | "worktreeId">;

/** The icons after a title; `worktree` also shows whether it has its own worktree. */
export function SessionMarks({ of, worktree = true }: { of: MarkedSession; worktree?: boolean }) {
  return (
    <span className={css.marks}>
      {of.promptedByAgent && (
        <Mark words="Prompted by an agent">
          <Bot />
        </Mark>
      )}
      {worktree && of.worktreeId && (
        <Mark words="Has its own worktree">
          <FolderGit2 />
        </Mark>
      )}
      {of.held > 0 && (
        <Mark words="Undelivered report" tone={css.held}>
          <MailWarning />
        </Mark>
      )}
      {of.queued > 0 && (
        <span className={css.count} title={`${of.queued} queued`}>
          <span aria-hidden>{of.queued}</span>
          <span className="visually-hidden">{of.queued} queued</span>
        </span>
      )}
      {of.unread && (
        <span className={css.dot} title="Unread">
          <span className="visually-hidden">Unread</span>
        </span>
      )}
    </span>
  );
}
