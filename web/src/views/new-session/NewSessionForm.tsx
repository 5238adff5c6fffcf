/** The form of a new session, begun with what was chosen last in its repository; what was typed is kept until it is sent. */
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { createSession } from "@/api/actions";
import type { Agent, Repo, Worktree } from "@/api/types";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { getPref, setPref } from "@/lib/prefs";
import { Button } from "@/ui/controls/Button";
import { Kbd } from "@/ui/controls/Kbd";
import { FormProblem, SubmitKeys, useSubmit } from "@/views/forms/layout/useSubmit";
import { pickAgent } from "@/views/forms/state/agentReadiness";
import { type Draft, EMPTY, type Place, toNewSession } from "@/views/forms/state/draft";
import { lastRepo, remember, remembered } from "@/views/forms/state/lastChoices";
import css from "./NewSession.module.css";
import { SessionFields } from "./SessionFields";

const TYPED = "draft.new";

interface Typed {
  prompt: string;
  title: string;
}

export function NewForm({
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
  const begin = (repoId: string | null, place?: Place): Partial<Draft> => {
    const last = remembered(repoId);
    return { ...last, agent: pickAgent(agents, last.agent), ...(place && { place }) };
  };
  const named = worktrees.find((one) => one.id === worktree && !one.removedAt);
  const [repoId, setRepoId] = useState<string | null>(() => {
    const wished = named?.repoId ?? repo ?? lastRepo();
    return repos.find((one) => one.id === wished)?.id ?? repos[0]?.id ?? null;
  });
  const [draft, setDraft] = useState<Draft>(() => ({
    ...EMPTY,
    ...getPref<Typed | null>(TYPED, null),
    ...begin(repoId, named ? { kind: "worktree", worktreeId: named.id } : repo ? { kind: "own" } : undefined),
  }));
  const set = (change: Partial<Draft>) => setDraft((known) => ({ ...known, ...change }));
  const { prompt, title } = draft;
  useEffect(() => setPref<Typed>(TYPED, prompt || title ? { prompt, title } : undefined), [prompt, title]);

  const form = useSubmit(
    () => createSession(toNewSession(draft, repoId!)),
    (session) => {
      remember(repoId!, draft);
      setPref(TYPED, undefined);
      navigate(routes.session(session.id));
    },
  );
  const submit = () => {
    if (!repoId) form.refuse("repo", "Choose a repository, or add a folder.");
    else if (!draft.agent) form.refuse("agent", "Choose an agent.");
    else if (draft.place.kind === "new" && !draft.place.branch.trim())
      form.refuse("place", "Name the branch of the new worktree.");
    else form.submit();
  };
  const moveTo = (next: string) => {
    const last = remembered(next);
    // What was chosen by hand stays; what another repository is used to does not come along.
    const chosen = draft.mode !== (remembered(repoId).mode ?? null);
    setRepoId(next);
    set({
      ...begin(next, last.place ?? { kind: "own" }),
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
        <p className={css.about}>One conversation with one agent, in one folder.</p>
      </header>
      <SubmitKeys onSubmit={submit} className={css.columns}>
        <SessionFields
          draft={draft}
          set={set}
          of={form}
          repos={repos}
          repoId={repoId}
          onRepo={moveTo}
          offers={["own", "worktree", "new"]}
        />
      </SubmitKeys>
      <div className={css.bar}>
        <FormProblem of={form} />
        <div className={css.buttons}>
          <span className={css.keys}>
            <Kbd keys="mod+enter" />
          </span>
          <Button type="submit" look="primary" busy={form.busy}>
            {draft.prompt.trim() ? "Start the session" : "Open the session"}
          </Button>
        </div>
      </div>
    </form>
  );
}
