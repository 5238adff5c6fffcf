/** Shows a comment with its status; one of the reader's draft can be changed and deleted. */
import { Pencil, Trash2 } from "lucide-react";
import { useState } from "react";
import { editComment, removeComment, runRequest } from "@/api/actions";
import type { ReviewComment } from "@/api/types";
import { IconButton } from "@/ui/controls/Button";
import { Badge, type Tone } from "@/ui/labels/Badge";
import { CommentEditor } from "./CommentEditor";
import css from "./Review.module.css";

const STATUSES: Record<ReviewComment["status"], [string, Tone, string]> = {
  draft: ["Draft", "waiting", "Not sent yet; only you see it."],
  outdated: ["Draft, lines changed", "waiting", "The lines have changed since you wrote this."],
  sent: ["Sent", "running", "Sent to the agent."],
  answered: ["Answered", "done", "The lines have changed since, or the agent has replied."],
};

const whereOf = ({ path, line, lastLine, startLine, endLine, side }: ReviewComment): string => {
  if (!path) return "Message";
  const [first, last] = [line ?? startLine, lastLine ?? endLine];
  return `${first === last ? `Line ${first}` : `Lines ${first}–${last}`}${side === "old" ? " (removed)" : ""}`;
};

export function CommentView({
  comment,
  quote = false,
  mayWork,
  onChange,
}: {
  comment: ReviewComment;
  /** Shows the lines that it is about. */
  quote?: boolean;
  mayWork: boolean;
  /** Called after the comment was changed or deleted. */
  onChange: () => void;
}) {
  const [text, setText] = useState<string | null>(null);
  const [label, tone, about] = STATUSES[comment.status];
  const editable = mayWork && comment.mine && !comment.sentAt;
  const run = async (work: () => Promise<unknown>) => {
    const done = await runRequest(work);
    if (done) onChange();
    return done;
  };
  return (
    <article className={css.comment} aria-label={`Comment by ${comment.author}: ${whereOf(comment)}`}>
      <header className={css.commentHead}>
        <strong>{comment.author}</strong>
        <span className={css.where}>{whereOf(comment)}</span>
        <Badge tone={tone} title={about}>
          {label}
        </Badge>
        {editable && text === null && (
          <span className={css.commentTools}>
            <IconButton label="Edit comment" size="small" onClick={() => setText(comment.body)}>
              <Pencil />
            </IconButton>
            <IconButton
              label="Delete comment"
              size="small"
              onClick={() => void run(() => removeComment(comment.id))}
            >
              <Trash2 />
            </IconButton>
          </span>
        )}
      </header>
      {quote && <pre className={css.quote}>{comment.quote}</pre>}
      {text === null ? (
        <p className={css.commentBody}>{comment.body}</p>
      ) : (
        <CommentEditor
          label="Edit comment"
          text={text}
          onText={setText}
          onCancel={() => setText(null)}
          onSave={async (body) => {
            const saved = await run(() => editComment(comment.id, { body }));
            if (saved) setText(null);
            return saved;
          }}
        />
      )}
    </article>
  );
}
