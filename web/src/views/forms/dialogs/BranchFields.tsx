/** The fields that forks and spawns share: working directory, agent and mode, folded because they default to the session's. */
import { useAgents } from "@/api/queries";
import type { Session } from "@/api/types";
import { modeName } from "@/lib/words";
import { AgentPicker } from "@/views/forms/fields/AgentPicker";
import { type DirectoryKind, DirectoryPicker } from "@/views/forms/fields/DirectoryPicker";
import { PresetSelect } from "@/views/forms/fields/PresetSelect";
import { ModePicker } from "@/views/forms/fields/permissions/ModePicker";
import { FieldError, Fold } from "@/views/forms/layout/FormParts";
import type { FormSubmission } from "@/views/forms/layout/useSubmit";
import { agentTitle } from "@/views/forms/state/agentReadiness";
import type { Draft } from "@/views/forms/state/draft";
import { grantsMore } from "@/views/forms/state/offeredModes";

export function BranchFields({
  draft,
  set,
  session,
  of,
  offers,
  takesIgnored,
  replays = false,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  session: Session;
  of: FormSubmission;
  offers: readonly DirectoryKind[];
  takesIgnored?: boolean;
  /** The conversation is replayed to another agent. */
  replays?: boolean;
}) {
  const agents = useAgents().data;
  const other = draft.agent !== session.agent;
  const mode = draft.mode ?? session.permissionMode;
  return (
    <>
      <PresetSelect draft={draft} set={set} error={of.at("preset")} />
      <Fold label="Working directory" value={directoryName(draft)} wrong={of.at("directory") !== null}>
        <DirectoryPicker
          repoId={session.repoId}
          value={draft.directory}
          onChange={(directory) => set({ directory })}
          offers={offers}
          from={session}
          takesIgnored={takesIgnored}
        />
        <FieldError text={of.at("directory")} />
      </Fold>
      <Fold
        label="Agent"
        value={`${agentTitle(agents, draft.agent)}${other && replays ? ", replays the conversation" : ""}`}
        wrong={of.at("agent") !== null}
      >
        <AgentPicker
          value={draft.agent}
          own={session.agent}
          onChange={(agent) =>
            set(
              agent === session.agent
                ? { agent, model: session.model ?? "", effort: session.effort ?? "" }
                : { agent, model: "", effort: "" },
            )
          }
        />
        {other && replays && (
          <p>
            Another agent cannot read the state of {agentTitle(agents, session.agent)}, so it gets the
            conversation as text.
          </p>
        )}
        <FieldError text={of.at("agent")} />
      </Fold>
      <Fold
        label="Mode"
        value={`${modeName(mode)}${grantsMore(mode, session.permissionMode) ? ", more than this session" : ""}`}
        wrong={of.at("mode") !== null}
      >
        <ModePicker
          value={mode}
          onChange={(next) => set({ mode: next })}
          agent={draft.agent}
          from={session.permissionMode}
        />
        <FieldError text={of.at("mode")} />
      </Fold>
    </>
  );
}

function directoryName(draft: Draft): string {
  const { directory } = draft;
  if (directory.kind === "new") return `New worktree${directory.branch ? `, ${directory.branch}` : ""}`;
  if (directory.kind === "worktree") return "Existing worktree";
  return "Same folder";
}
