/** Opens or updates a pull request after a preview, or shows the link and the text to do so by hand. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type FinishBody, finishWork, runRequest } from "@/api/actions";
import { finishPreviewQuery } from "@/api/queries";
import type { Finished, FinishState } from "@/api/types";
import { withoutFields } from "@/lib/refusals";
import { CopyButton } from "@/ui/code/Code";
import { Button } from "@/ui/controls/Button";
import { Dialog } from "@/ui/controls/Dialog";
import { Field, Input, Switch, TextArea } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import css from "./FinishDialog.module.css";

export function PullRequestDialog({ state, onClose }: { state: FinishState; onClose: () => void }) {
  const client = useQueryClient();
  // Null means: as proposed, or as it is on the server.
  const [title, setTitle] = useState<string | null>(null);
  const [text, setText] = useState<string | null>(null);
  const [draft, setDraft] = useState(false);
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState<Finished | null>(null);
  // The title and text change nothing in the preview, which would flicker with every letter.
  const preview = useQuery({
    ...finishPreviewQuery(state.worktreeId, { verb: "pullRequest", body: { draft } }),
    placeholderData: keepPreviousData,
  });
  const request = preview.data?.pullRequest ?? null;
  const shownTitle = title ?? request?.title ?? "";
  const shownText = text ?? request?.body ?? "";
  const isReady =
    request !== null && !preview.data?.refusal && !preview.isFetching && shownTitle.trim() !== "";

  const send = async () => {
    setBusy(true);
    // What was proposed is sent as it was shown; what is on the server stays, unless it was edited.
    const isOpen = request?.url != null;
    const body: FinishBody = {
      verb: "pullRequest",
      body: { title: isOpen ? title : shownTitle, body: isOpen ? text : shownText, draft },
    };
    const isDone = await runRequest(async () => setDone(await finishWork(state.worktreeId, body, false)));
    setBusy(false);
    void client.invalidateQueries({ queryKey: ["finish", state.worktreeId] });
    if (!isDone) void preview.refetch();
  };
  if (done) return <Result finished={done} onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => isReady && void send()}
      title={`Pull request for ${state.branch}`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={busy} disabled={!isReady}>
            {request?.url
              ? "Update pull request"
              : request?.program
                ? "Open pull request"
                : "Push and get the link"}
          </Button>
        </>
      }
    >
      <Field label="Title">
        <Input value={shownTitle} maxLength={255} onChange={(event) => setTitle(event.target.value)} />
      </Field>
      <Field label="Text">
        <TextArea rows={8} value={shownText} onChange={(event) => setText(event.target.value)} />
      </Field>
      {!request?.url && <Switch label="Draft" checked={draft} onChange={setDraft} />}
      <section className={css.preview} aria-label="Preview" aria-live="polite">
        <QueryResult query={preview}>
          {({ refusal, steps = [] }) =>
            refusal ? (
              <p className={css.refused}>{withoutFields(refusal.message)}</p>
            ) : (
              <Steps steps={steps} />
            )
          }
        </QueryResult>
      </section>
    </Dialog>
  );
}

function Steps({ steps }: { steps: string[] }) {
  return (
    <ul className={css.steps}>
      {steps.map((step) => (
        <li key={step}>{step}</li>
      ))}
    </ul>
  );
}

/** Shows the pull request's address, or what is needed to open it by hand. */
function Result({ finished, onClose }: { finished: Finished; onClose: () => void }) {
  const request = finished.pullRequest;
  if (!request) return null;
  const address = request.url ?? request.link;
  return (
    <Dialog
      open
      onClose={onClose}
      title={request.program ? `Pull request ${request.number}` : "Open the pull request by hand"}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      {request.reason && <p className={css.soft}>{request.reason}</p>}
      {address && (
        <p>
          <a href={address} target="_blank" rel="noreferrer noopener">
            {request.url ?? "Open the page to create it"}
          </a>
        </p>
      )}
      {!request.program && (
        <>
          <p>
            <strong>{request.title}</strong> <CopyButton text={request.title} label="Copy title" />
          </p>
          <Field label="Text">
            <TextArea rows={8} readOnly value={request.body} />
          </Field>
          <CopyButton text={request.body} label="Copy text" />
        </>
      )}
    </Dialog>
  );
}
