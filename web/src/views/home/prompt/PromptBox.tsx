/** The prompt box of the start page: what to do, and chips for where, with which agent, how, and how many times. Enter starts
 * a session, or a race if several agents are to try. */
import { ArrowUp, Bot, Copy, FolderGit2, GitBranch, Layers, ShieldCheck, Sparkles } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { Link, useLocation } from "wouter";
import { createSession, deleteSession, startRace } from "@/api/actions";
import { ApiError } from "@/api/client";
import { useAgents, usePresets, useRepos, useWorktrees } from "@/api/queries";
import type { Agent, Mode, Preset, Repo } from "@/api/types";
import { useActions } from "@/app/keyboard/shortcuts";
import { routes } from "@/app/routes";
import { firstLine } from "@/lib/format";
import { useMedia } from "@/lib/media";
import { usePref } from "@/lib/prefs";
import { modeName, neverAsks } from "@/lib/words";
import { Button } from "@/ui/controls/Button";
import { BareSelect, Chip, ChipInput, ChipSelect } from "@/ui/controls/Chip";
import { toast } from "@/ui/feedback/toast";
import { MAX_RACERS } from "@/views/forms/dialogs/Racers";
import { Suggestions, useModelOptions } from "@/views/forms/fields/ModelFields";
import { toastMadeRoom } from "@/views/forms/layout/toastMadeRoom";
import { FormProblem, useSubmit } from "@/views/forms/layout/useSubmit";
import { pickAgent, sortedByReadiness } from "@/views/forms/state/agentReadiness";
import { type Draft, defaultMode, EMPTY_DRAFT, NEW_WORKTREE, toNewSession } from "@/views/forms/state/draft";
import { lastRepo, rememberChoices, rememberedChoices } from "@/views/forms/state/lastChoices";
import { offeredModes } from "@/views/forms/state/offeredModes";
import { additionsOf, draftFromPreset } from "@/views/forms/state/presets";
import { branchName, freeBranch } from "./branchName";
import css from "./PromptBox.module.css";

export function PromptBox() {
  const agents = useAgents().data;
  const repos = useRepos().data;
  if (!agents || !repos) return <div className={css.placeholder} aria-hidden />;
  if (!repos.length) return null;
  return <Box agents={agents} repos={repos} />;
}

const TITLE = 80;
const TIMES = Array.from({ length: MAX_RACERS }, (_, at) => at + 1);

function Box({ agents, repos }: { agents: Agent[]; repos: Repo[] }) {
  const [, navigate] = useLocation();
  const id = useId();
  const isTouch = useMedia("(pointer: coarse)");
  const [prompt, setPrompt] = usePref("draft.home", "");
  const [repoId, setRepoId] = useState(
    () => repos.find((repo) => repo.id === lastRepo())?.id ?? repos[0]!.id,
  );
  const repo = repos.find((known) => known.id === repoId) ?? repos[0]!;
  const remembered = rememberedChoices(repo.id);
  const [choices, setChoices] = useState<{
    agent?: string;
    mode?: Mode;
    model?: string;
    isolated?: boolean;
    preset?: string;
  }>({});
  const [typedBranch, setTypedBranch] = useState<string | null>(null);
  const [times, setTimes] = useState(1);
  const agent = choices.agent ?? pickAgent(agents, remembered.agent);
  const mode = choices.mode ?? remembered.mode ?? defaultMode(agents, agent);
  const model = choices.model ?? "";
  const presets = usePresets().data ?? [];
  const preset = presets.find((other) => other.id === choices.preset);
  const isGit = repo.kind === "git";
  const isolated = isGit && (choices.isolated ?? remembered.directory?.kind !== "own");
  const known = agents.find((other) => other.name === agent);
  const models = useModelOptions(agent).models;
  const worktrees = useWorktrees().data ?? [];
  const used = new Set(
    worktrees.filter((worktree) => worktree.repoId === repo.id).map(({ branch }) => branch ?? ""),
  );
  const branch = typedBranch ?? freeBranch(branchName(prompt), used);
  const races = isGit && times > 1;

  const draft = (): Draft => ({
    ...EMPTY_DRAFT,
    ...(preset && draftFromPreset(preset)),
    prompt,
    agent,
    mode,
    model,
    directory: isolated && !races ? ({ ...NEW_WORKTREE, branch } as Draft["directory"]) : { kind: "own" },
  });
  const form = useSubmit(
    () => (races ? race(draft(), repo.id, times) : start(draft(), repo.id)),
    (address) => {
      if (!races) rememberChoices(repo.id, draft());
      setPrompt(undefined);
      navigate(address);
    },
    [],
  );
  const submit = () => {
    if (!prompt.trim()) form.refuse("form", "Enter a prompt first.");
    else if (!agent) form.refuse("form", "No agent is installed. See Settings → Agents.");
    else if (isolated && !races && !branch.trim()) form.refuse("form", "Enter a name for the new branch.");
    else form.submit();
  };
  useActions([
    {
      keys: "n",
      label: "Write a new prompt",
      group: "Home",
      run: () => document.getElementById(id)?.focus(),
    },
  ]);
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") event.currentTarget.blur();
    const mod = event.ctrlKey || event.metaKey;
    if (event.key !== "Enter" || !(mod || (!isTouch && !event.shiftKey))) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      className={css.box}
      aria-label="New prompt"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        id={id}
        className={css.text}
        rows={2}
        aria-label="Prompt for a new session"
        placeholder="What should an agent do?"
        value={prompt}
        readOnly={form.busy}
        onChange={(event) => setPrompt(event.target.value || undefined)}
        onKeyDown={onKeyDown}
      />
      <div className={css.chips}>
        <ChipSelect
          icon={<FolderGit2 />}
          label="Repository"
          value={repo.id}
          onChange={(event) => {
            setRepoId(event.target.value);
            setChoices(preset ? choicesOf(preset) : {});
            setTypedBranch(null);
          }}
        >
          {repos.map((other) => (
            <option key={other.id} value={other.id}>
              {other.name}
            </option>
          ))}
        </ChipSelect>
        {presets.length > 0 && (
          <ChipSelect
            icon={<Layers />}
            label="Preset"
            value={preset?.id ?? ""}
            title={preset && additionsOf(preset)}
            onChange={(event) => {
              const chosen = presets.find((other) => other.id === event.target.value);
              setChoices({ isolated: choices.isolated, ...(chosen && choicesOf(chosen)) });
            }}
          >
            <option value="">No preset</option>
            {presets.map((other) => (
              <option key={other.id} value={other.id}>
                {other.name}
              </option>
            ))}
          </ChipSelect>
        )}
        <ChipSelect
          icon={<Bot />}
          label="Agent"
          value={agent ?? ""}
          onChange={(event) =>
            setChoices({ ...choices, agent: event.target.value, model: "", mode: undefined })
          }
        >
          {!agent && <option value="">No agent</option>}
          {sortedByReadiness(agents).map((other) => (
            <option key={other.name} value={other.name}>
              {other.title}
            </option>
          ))}
        </ChipSelect>
        <Chip icon={<Sparkles />}>
          <ChipInput
            aria-label="Model"
            placeholder="Default model"
            value={model}
            size={Math.max(model.length, 13)}
            list={`${id}-models`}
            onChange={(event) => setChoices({ ...choices, model: event.target.value })}
          />
          <Suggestions id={`${id}-models`} values={models} />
        </Chip>
        <ChipSelect
          icon={<ShieldCheck />}
          label="Mode"
          value={mode}
          danger={neverAsks(mode)}
          title={offeredModes(known).find((offered) => offered.mode === mode)?.description}
          onChange={(event) => setChoices({ ...choices, mode: event.target.value as Mode })}
        >
          {offeredModes(known)
            .filter((offered) => offered.refused === null || offered.mode === mode)
            .map((offered) => (
              <option key={offered.mode} value={offered.mode}>
                {modeName(offered.mode)}
              </option>
            ))}
        </ChipSelect>
        {isGit && !races && (
          <Chip icon={<GitBranch />}>
            <BareSelect
              aria-label="Working directory"
              value={isolated ? "new" : "own"}
              onChange={(event) => setChoices({ ...choices, isolated: event.target.value === "new" })}
            >
              <option value="new">New branch</option>
              <option value="own">Main folder</option>
            </BareSelect>
            {isolated && (
              <ChipInput
                aria-label="Branch"
                placeholder="branch name"
                value={branch}
                size={Math.max(branch.length, 12)}
                onChange={(event) => setTypedBranch(event.target.value || null)}
              />
            )}
          </Chip>
        )}
        {isGit && (
          <ChipSelect
            icon={<Copy />}
            label="How many agents try"
            value={times}
            onChange={(event) => setTimes(Number(event.target.value))}
          >
            {TIMES.map((count) => (
              <option key={count} value={count}>
                {count > 1 ? `×${count} race` : "×1"}
              </option>
            ))}
          </ChipSelect>
        )}
        <Button type="submit" variant="primary" icon={<ArrowUp />} busy={form.busy} className={css.start}>
          {races ? "Start race" : "Start"}
        </Button>
      </div>
      <FormProblem of={form} />
      <p className={css.hint}>
        {races
          ? `${times} sessions get this prompt, each in its own worktree; you keep one result.`
          : isTouch
            ? ""
            : "Enter starts, Shift+Enter for a new line."}{" "}
        <Link href={routes.new}>All options</Link>
      </p>
    </form>
  );
}

/** Returns what choosing a preset puts into the chips. */
const choicesOf = ({ id, agent, model, permissionMode }: Preset) => ({
  preset: id,
  agent,
  model: model ?? "",
  mode: permissionMode ?? undefined,
});

/** Starts a session; returns its address. */
async function start(draft: Draft, repoId: string): Promise<string> {
  const session = await createSession({ ...toNewSession(draft, repoId), makeRoom: true });
  for (const warning of session.warnings ?? []) toast(warning);
  toastMadeRoom(session);
  return routes.session(session.id);
}

/** Starts a race: a session without a prompt, whose children all get it. Returns the race's address. */
async function race(draft: Draft, repoId: string, times: number): Promise<string> {
  const title = firstLine(draft.prompt, TITLE);
  const session = await createSession({
    ...toNewSession({ ...draft, prompt: "", title }, repoId),
    makeRoom: true,
  });
  toastMadeRoom(session);
  try {
    const { raceId } = await startRace(session.id, {
      prompt: draft.prompt.trim(),
      kind: "spawn",
      contenders: Array.from({ length: times }, () => ({})),
    });
    return routes.race(raceId);
  } catch (error) {
    // After a refusal nothing has happened in it, and an empty session would only be in the way. When the answer was lost, the
    // race may have begun.
    if (error instanceof ApiError && error.status >= 400 && error.status < 500)
      await deleteSession(session.id, { purge: true, cascade: true }).catch(() => undefined);
    throw error;
  }
}
