/** What forks and spawns are asked in the same way: agent, mode, where. Folded, as they begin with what the session has. */
import { useAgents } from "@/api/queries";
import type { Mode, Session } from "@/api/types";
import { modeName } from "@/lib/words";
import { AgentPicker } from "@/views/forms/fields/AgentPicker";
import { type Offer, PlacePicker } from "@/views/forms/fields/DirectoryPicker";
import { ModePicker } from "@/views/forms/fields/ModePicker";
import { Fold, Wrong } from "@/views/forms/layout/FormParts";
import type { Submitting } from "@/views/forms/layout/useSubmit";
import { agentTitle } from "@/views/forms/state/agentReadiness";
import type { Draft } from "@/views/forms/state/draft";

export function BranchFields({
  draft,
  set,
  session,
  of,
  offers,
  most,
  takesIgnored,
  replays = false,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  session: Session;
  of: Submitting;
  offers: readonly Offer[];
  /** No mode above this one. */
  most?: Mode;
  takesIgnored?: boolean;
  /** Another agent is told the conversation anew. */
  replays?: boolean;
}) {
  const agents = useAgents().data;
  const other = draft.agent !== session.agent;
  const mode = draft.mode ?? session.permissionMode;
  return (
    <>
      <Fold label="Where" value={placeWords(draft)} wrong={of.at("place") !== null}>
        <PlacePicker
          repoId={session.repoId}
          value={draft.place}
          onChange={(place) => set({ place })}
          offers={offers}
          from={session}
          takesIgnored={takesIgnored}
        />
        <Wrong text={of.at("place")} />
      </Fold>
      <Fold
        label="Agent"
        value={`${agentTitle(agents, draft.agent)}${other && replays ? ", told the conversation anew" : ""}`}
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
            Another agent cannot take over the memory of {agentTitle(agents, session.agent)}. The conversation
            is replayed to it as text.
          </p>
        )}
        <Wrong text={of.at("agent")} />
      </Fold>
      <Fold label="Mode" value={modeName(mode)} wrong={of.at("mode") !== null}>
        <ModePicker value={mode} onChange={(next) => set({ mode: next })} agent={draft.agent} most={most} />
        <Wrong text={of.at("mode")} />
      </Fold>
    </>
  );
}

function placeWords(draft: Draft): string {
  const { place } = draft;
  if (place.kind === "new") return `A new worktree${place.branch ? `, ${place.branch}` : ""}`;
  if (place.kind === "worktree") return "Another worktree";
  return "The same folder";
}
