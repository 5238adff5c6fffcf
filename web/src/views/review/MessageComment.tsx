/** The button that comments on a plan or an agent's message, and its dialog. Text that is selected in the message is quoted;
 * otherwise all of it is. */
import { useQueryClient } from "@tanstack/react-query";
import { MessageSquarePlus } from "lucide-react";
import { useState } from "react";
import { addComment, runRequest } from "@/api/actions";
import { useMay } from "@/api/queries";
import type { Message } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { TextArea } from "@/ui/controls/Field";
import { useTranscriptContext } from "@/views/session/transcript/TranscriptContext";
import css from "./MessageComment.module.css";

/** Longer quotes are cut: the server accepts no more. */
const LONGEST_QUOTE = 4000;

const isCommentable = ({ role, content }: Message): boolean =>
  content.type === "plan" || (content.type === "text" && role === "agent" && !content.partial);

export function MessageComment({ message, text }: { message: Message; text: string }) {
  const { session } = useTranscriptContext();
  const queries = useQueryClient();
  const mayWork = useMay("operator");
  const [quote, setQuote] = useState<string | null>(null);
  const [body, setBody] = useState("");
  const [busy, setBusy] = useState(false);
  if (!mayWork || session.kind === "btw" || !isCommentable(message)) return null;
  const open = (button: HTMLElement) => {
    const selection = document.getSelection();
    const selected = selection?.toString().trim();
    const inside = button.closest("article")?.contains(selection?.anchorNode ?? null);
    setQuote(selected && inside ? selected : "");
  };
  const save = async () => {
    setBusy(true);
    // The server quotes a whole plan by its steps.
    const quoted = quote || (message.content.type === "plan" ? undefined : text);
    const comment = { messageId: message.id, quote: quoted?.slice(0, LONGEST_QUOTE), body };
    if (await runRequest(() => addComment("session", session.id, comment))) {
      setQuote(null);
      setBody("");
      void queries.invalidateQueries({ queryKey: ["reviewComments", "session", session.id] });
    }
    setBusy(false);
  };
  return (
    <>
      <IconButton label="Comment" size="small" onClick={(event) => open(event.currentTarget)}>
        <MessageSquarePlus />
      </IconButton>
      {quote !== null && (
        <Dialog
          open
          onClose={() => setQuote(null)}
          title="Comment"
          description="Added to your draft; sent with your other comments."
          onSubmit={() => void save()}
          footer={
            <Button type="submit" variant="primary" busy={busy} disabled={!body.trim()}>
              Save comment
            </Button>
          }
        >
          <pre className={css.quote}>{quote || text}</pre>
          <TextArea
            aria-label="Comment"
            rows={4}
            value={body}
            onChange={(event) => setBody(event.target.value)}
          />
        </Dialog>
      )}
    </>
  );
}
