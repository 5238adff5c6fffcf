/** The box in which a comment is written or changed. What is typed stays in this browser until it is saved. */
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Button } from "@/ui/controls/Button";
import { TextArea } from "@/ui/controls/Field";
import css from "./Review.module.css";

export function CommentEditor({
  label,
  text,
  problem = null,
  onText,
  onSave,
  onCancel,
}: {
  label: string;
  text: string;
  /** Says why the comment cannot be saved now. */
  problem?: string | null;
  onText: (text: string) => void;
  /** Returns whether the comment was saved. */
  onSave: (text: string) => Promise<boolean>;
  onCancel: () => void;
}) {
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // A row that was just added is hidden until it is measured, and cannot take the focus before.
    const focus = () => {
      field.current?.focus({ preventScroll: true });
      if (document.activeElement !== field.current) frame = requestAnimationFrame(focus);
    };
    let frame = requestAnimationFrame(focus);
    return () => cancelAnimationFrame(frame);
  }, []);
  const save = async () => {
    if (!text.trim() || busy || problem) return;
    setBusy(true);
    await onSave(text.trim());
    setBusy(false);
  };
  const onKey = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") onCancel();
    else if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void save();
  };
  return (
    <div className={css.editor}>
      <TextArea
        ref={field}
        aria-label={label}
        placeholder={`${label}…`}
        rows={3}
        value={text}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKey}
      />
      {problem && (
        <p className={css.problem} role="status">
          {problem}
        </p>
      )}
      <div className={css.editorActions}>
        <Button
          variant="primary"
          size="small"
          busy={busy}
          disabled={!text.trim() || problem !== null}
          onClick={() => void save()}
        >
          Save comment
        </Button>
        <Button variant="quiet" size="small" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </div>
  );
}
