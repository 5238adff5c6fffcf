/** The form for a new session. It opens with the repository's last choices, and keeps what was typed until it is submitted. */
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { createSession } from "@/api/actions";
import { ApiError } from "@/api/client";
import type { Agent, Repo, Worktree } from "@/api/types";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { getPref, setPref } from "@/lib/prefs";
import { Button } from "@/ui/controls/Button";
import { Kbd } from "@/ui/controls/Kbd";
import { toast } from "@/ui/feedback/toast";
import { toastMadeRoom } from "@/views/forms/layout/toastMadeRoom";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { pickAgent } from "@/views/forms/state/agentReadiness";
import { type Draft, EMPTY_DRAFT, toNewSession, type WorkingDirectory } from "@/views/forms/state/draft";
import { lastRepo, rememberChoices, rememberedChoices } from "@/views/forms/state/lastChoices";
import css from "./NewSession.module.css";
import { SessionFields } from "./SessionFields";

const TYPED = "draft.new";

interface Typed {
  prompt: string;
  title: string;
}

export function NewSessionForm({
  repo,
  worktree,
  agents,
  repos,
  worktrees,
}: {
  repo: string | null;
  worktree: string | null;
  agents: Agent[];
  repos: Repo[];
  worktrees: Worktree[];
}) {
  useTitle("New session");
  const [, navigate] = useLocation();
  const initial = (repoId: string | null, directory?: WorkingDirectory): Partial<Draft> => {
    const last = rememberedChoices(repoId);
    return { ...last, agent: pickAgent(agents, last.agent), ...(directory && { directory }) };
  };
  const requested = worktrees.find((other) => other.id === worktree && !other.removedAt);
  const [repoId, setRepoId] = useState<string | null>(() => {
    const wished = requested?.repoId ?? repo ?? lastRepo();
    return repos.find((other) => other.id === wished)?.id ?? repos[0]?.id ?? null;
  });
  const [draft, setDraft] = useState<Draft>(() => ({
    ...EMPTY_DRAFT,
    ...getPref<Typed | null>(TYPED, null),
    ...initial(
      repoId,
      requested ? { kind: "worktree", worktreeId: requested.id } : repo ? { kind: "own" } : undefined,
    ),
  }));
  const set = (change: Partial<Draft>) => setDraft((known) => ({ ...known, ...change }));
  const { prompt, title } = draft;
  useEffect(() => setPref<Typed>(TYPED, prompt || title ? { prompt, title } : undefined), [prompt, title]);

  const [confirmFolder, setConfirmFolder] = useState(false);
  const form = useSubmit(
    () =>
      createSession({
        ...toNewSession(draft, repoId!),
        ...(confirmFolder && { confirmFolder }),
        makeRoom: true,
      }),
    (session) => {
      for (const warning of session.warnings ?? []) toast(warning);
      toastMadeRoom(session);
      rememberChoices(repoId!, draft);
      setPref(TYPED, undefined);
      navigate(routes.session(session.id));
    },
  );
  const submit = () => {
    if (!repoId) form.refuse("repo", "Choose a repository or add one.");
    else if (!draft.agent) form.refuse("agent", "Choose an agent.");
    else if (draft.directory.kind === "new" && !draft.directory.branch.trim())
      form.refuse("directory", "Enter a branch for the new worktree.");
    else form.submit();
  };
  const moveTo = (next: string) => {
    const last = rememberedChoices(next);
    // A mode that the user chose stays; the remembered mode of the other repository does not.
    const chosen = draft.mode !== (rememberedChoices(repoId).mode ?? null);
    setRepoId(next);
    setConfirmFolder(false);
    set({
      ...initial(next, last.directory ?? { kind: "own" }),
      mode: chosen ? draft.mode : (last.mode ?? null),
    });
  };
  return (
    <form
      className={css.view}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <header>
        <h1>New session</h1>
        <p className={css.about}>
          One conversation with one agent in one folder. Have one from elsewhere?{" "}
          <Link href={routes.import}>Import it</Link>.
        </p>
      </header>
      <SubmitKeys onSubmit={submit} className={css.columns}>
        <SessionFields
          draft={draft}
          set={set}
          of={form}
          repos={repos}
          repoId={repoId}
          onRepo={moveTo}
          directories={["own", "worktree", "new"]}
        />
      </SubmitKeys>
      <div className={css.bar}>
        <FormProblem of={form} />
        {(confirmFolder || (form.error instanceof ApiError && form.error.code === "folder_unconfirmed")) && (
          <label className={css.confirm}>
            <input
              type="checkbox"
              checked={confirmFolder}
              onChange={(event) => setConfirmFolder(event.target.checked)}
            />
            Work in this folder anyway
          </label>
        )}
        <div className={css.buttons}>
          <span className={css.keys}>
            <Kbd keys="mod+enter" />
          </span>
          <Button type="submit" variant="primary" busy={form.busy}>
            {draft.prompt.trim() ? "Start session" : "Create session"}
          </Button>
        </div>
      </div>
    </form>
  );
}
