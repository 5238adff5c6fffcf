/** What can be seen of a session at a glance: its kind, what waits in it, who asked last, what is new, where it works. */
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
const KIND_WORDS: Record<Kind, string> = { root: "", fork: "Fork", subsession: "Child", btw: "Aside" };

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

export type Marked = Pick<Node, "unread" | "queued" | "held" | "promptedByAgent" | "worktreeId">;

/** The small marks behind a title. `worktree` also says that it has a folder of its own, where that is not clear anyway. */
export function Marks({ of, worktree = true }: { of: Marked; worktree?: boolean }) {
  return (
    <span className={css.marks}>
      {of.promptedByAgent && (
        <Mark words="Prompted by an agent">
          <Bot />
        </Mark>
      )}
      {worktree && of.worktreeId && (
        <Mark words="Has a worktree of its own">
          <FolderGit2 />
        </Mark>
      )}
      {of.held > 0 && (
        <Mark words="A report could not be delivered" tone={css.held}>
          <MailWarning />
        </Mark>
      )}
      {of.queued > 0 && (
        <span className={css.count} title={`${of.queued} waiting in its queue`}>
          <span aria-hidden>{of.queued}</span>
          <span className="visually-hidden">{of.queued} waiting in its queue</span>
        </span>
      )}
      {of.unread && (
        <span className={css.dot} title="New since you last looked">
          <span className="visually-hidden">New since you last looked</span>
        </span>
      )}
    </span>
  );
}
