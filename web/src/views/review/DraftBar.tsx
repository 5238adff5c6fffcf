/** The bar that sends all comments of a draft as one prompt. */
import { useQueryClient } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { useLocation } from "wouter";
import { sendReview } from "@/api/actions";
import type { ReviewKind } from "@/api/queries/reviews";
import { routes } from "@/app/routes";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Select } from "@/ui/controls/Field";
import { toast, toastError } from "@/ui/feedback/toast";
import { toastMadeRoom } from "@/views/forms/layout/toastMadeRoom";
import css from "./DraftBar.module.css";

interface Recipient {
  id: string;
  title: string;
  agent: string;
}

export function DraftBar({
  kind,
  subjectId,
  drafts,
  sessions,
  children,
  offerToOpen = false,
}: {
  kind: ReviewKind;
  subjectId: string;
  drafts: number;
  /** The sessions that the draft can be sent to. */
  sessions: Recipient[];
  children?: ReactNode;
  /** Offers to go to the session after sending. */
  offerToOpen?: boolean;
}) {
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [busy, setBusy] = useState(false);
  const [chosen, setChosen] = useState<string | null>(null);
  // A repeated attempt has the same key, so that the server sends the draft only once.
  const key = useRef<string | null>(null);
  const recipient = sessions.find(({ id }) => id === chosen) ?? sessions.at(-1);
  const send = async () => {
    if (!recipient) return;
    key.current ??= crypto.randomUUID();
    setBusy(true);
    try {
      const sent = await sendReview(kind, subjectId, { sessionId: recipient.id }, key.current);
      key.current = null;
      toastMadeRoom(sent);
      toast(`Sent ${plural(sent.comments, "comment")} as one prompt.`, {
        ...(offerToOpen && {
          action: { label: "Open session", run: () => navigate(routes.session(sent.task.sessionId)) },
        }),
      });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
    void queries.invalidateQueries({ queryKey: ["review"] });
    void queries.invalidateQueries({ queryKey: ["reviewComments"] });
  };
  return (
    <section className={css.bar} aria-label="Draft">
      <span className={css.count}>{plural(drafts, "comment")}</span>
      {children}
      {sessions.length > 1 && (
        <Select
          aria-label="Send to session"
          className={css.recipient}
          value={recipient?.id}
          onChange={(event) => setChosen(event.target.value)}
        >
          {sessions.map(({ id, title, agent }) => (
            <option key={id} value={id}>
              {title || agent}
            </option>
          ))}
        </Select>
      )}
      {sessions.length === 0 && <span className={css.hint}>No active session works here.</span>}
      <Button variant="primary" icon={<Send />} busy={busy} disabled={!recipient} onClick={() => void send()}>
        Send
      </Button>
    </section>
  );
}
