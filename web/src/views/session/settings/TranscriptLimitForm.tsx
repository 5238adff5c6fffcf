/** Shows how much of its limit a session's transcript uses, and sets the limit. */
import { useState } from "react";
import { setTranscriptLimit } from "@/api/actions";
import { client, transcriptSizeQuery, useTranscriptSize } from "@/api/queries";
import { Button } from "@/ui/controls/Button";
import { Field, Input } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import css from "./Settings.module.css";
import { limitText, mebibytes, parseLimit } from "./transcriptLimit";

type TranscriptSize = NonNullable<ReturnType<typeof useTranscriptSize>["data"]>;

export function TranscriptLimitForm({ sessionId }: { sessionId: string }) {
  return (
    <section className={css.part}>
      <h2 className={css.head}>Transcript</h2>
      <p className={css.hint}>
        Near the limit, tool output is shortened. At the limit, the turn is stopped and the queue pauses.
      </p>
      <QueryResult query={useTranscriptSize(sessionId)}>
        {(size) => <Form sessionId={sessionId} size={size} />}
      </QueryResult>
    </section>
  );
}

function Form({ sessionId, size }: { sessionId: string; size: TranscriptSize }) {
  const [edited, setEdited] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const text = edited ?? limitText(size.ownLimit);
  const limit = parseLimit(text);
  const save = async () => {
    if (limit === undefined) return;
    setBusy(true);
    setError(null);
    try {
      client.setQueryData(
        transcriptSizeQuery(sessionId).queryKey,
        await setTranscriptLimit(sessionId, limit),
      );
      setEdited(null);
    } catch (caught) {
      setError(caught instanceof Error ? caught.message : String(caught));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Field
        label="Limit (MiB)"
        hint={`${mebibytes(size.used)} of ${mebibytes(size.limit)} used. Blank = server default.`}
        error={limit === undefined ? "Enter a number greater than 0." : null}
      >
        <Input
          inputMode="decimal"
          placeholder="Server default"
          value={text}
          onChange={(event) => setEdited(event.target.value)}
        />
      </Field>
      {error && (
        <p className={css.error} role="alert">
          {error}
        </p>
      )}
      {edited !== null && (
        <div className={css.row}>
          <Button type="submit" variant="primary" busy={busy} disabled={limit === undefined}>
            Set limit
          </Button>
          <Button variant="quiet" onClick={() => setEdited(null)}>
            Discard
          </Button>
        </div>
      )}
    </form>
  );
}
