/** What is seldom changed about a session: model, effort, MCP servers, variables, files to read first, and what becomes
 * of questions that nobody answers. */

import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { sessionsQuery, useMcpServers } from "@/api/queries";
import type { Session } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { Field, Input, Select, TextArea } from "@/ui/controls/Field";
import { Fold, Part, Wrong } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import type { Submitting } from "@/views/forms/layout/useSubmit";
import { offeredFor } from "@/views/forms/state/agentOptions";
import type { Draft, Headless } from "@/views/forms/state/draft";
import { modelsOf } from "@/views/forms/state/lastChoices";
import { EnvEditor } from "./EnvEditor";

const EFFORTS = ["low", "medium", "high"];

export function More({
  draft,
  set,
  of,
  from,
  shows,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  of: Submitting;
  /** The session whose settings are inherited. */
  from?: Session;
  /** Only these of them; all if it is not given. */
  shows?: { model: boolean; mcp: boolean; files: boolean };
}) {
  const list = useId();
  const newest = useQuery(sessionsQuery).data ?? [];
  const offered = offeredFor(draft.agent, from ? [from, ...newest] : newest);
  const models = [...new Set([...offered.models, ...modelsOf(draft.agent)])];
  const efforts = offered.efforts.length ? offered.efforts : EFFORTS;
  // What a branch leaves empty is inherited, unless it has another agent.
  const empty = from && from.agent === draft.agent ? "as in this session" : "its own choice";
  const wrong = (["model", "effort", "mcp", "env", "files"] as const).some((field) => of.at(field));
  return (
    <Fold label="More" value={shows ? undefined : "model, MCP servers, variables"} wrong={wrong}>
      {(!shows || shows.model) && (
        <div className={css.pair}>
          <Field label="Model" hint={`As the agent names it. Empty: ${empty}.`} error={of.at("model")}>
            <Input
              value={draft.model}
              onChange={(event) => set({ model: event.target.value })}
              list={`${list}-models`}
              autoCapitalize="none"
              spellCheck={false}
            />
          </Field>
          <Field label="Effort" hint="Where the agent has it." error={of.at("effort")}>
            <Input
              value={draft.effort}
              onChange={(event) => set({ effort: event.target.value })}
              list={`${list}-efforts`}
              autoCapitalize="none"
              spellCheck={false}
            />
          </Field>
        </div>
      )}
      <datalist id={`${list}-models`}>
        {models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <datalist id={`${list}-efforts`}>
        {efforts.map((effort) => (
          <option key={effort} value={effort} />
        ))}
      </datalist>
      {(!shows || shows.mcp) && <McpServers draft={draft} set={set} from={from} />}
      <Wrong text={of.at("mcp")} />
      {!shows && (
        <Part label="Environment variables" error={of.at("env")}>
          {from && draft.env === null ? (
            <Inherited names={Object.keys(from.env)} onOwn={() => set({ env: [] })} />
          ) : (
            <EnvEditor value={draft.env ?? []} onChange={(env) => set({ env })} />
          )}
        </Part>
      )}
      {(shows ? shows.files : !from) && (
        <Field
          label="Files to read first"
          hint="One path on each line, inside the folder."
          error={of.at("files")}
        >
          <TextArea
            rows={2}
            value={draft.contextFiles}
            onChange={(event) => set({ contextFiles: event.target.value })}
            spellCheck={false}
          />
        </Field>
      )}
      {!shows && (
        <Field label="When it asks and nobody answers">
          <Select
            value={draft.headless ?? ""}
            onChange={(event) => set({ headless: (event.target.value || null) as Headless })}
          >
            <option value="">{from ? "As in this session" : "As the server is set"}</option>
            <option value="wait">Wait for an answer</option>
            <option value="deny">Deny after a while</option>
            <option value="allow">Allow after a while</option>
          </Select>
        </Field>
      )}
    </Fold>
  );
}

function Inherited({ names, onOwn }: { names: string[]; onOwn: () => void }) {
  return (
    <div className={css.row}>
      <span className={css.hint}>
        {names.length ? `Inherits ${names.join(", ")}.` : "None in this session."}
      </span>
      <Button size="small" onClick={onOwn}>
        Set its own
      </Button>
    </div>
  );
}

function McpServers({
  draft,
  set,
  from,
}: {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  from?: Session;
}) {
  const servers = useMcpServers().data ?? [];
  if (!servers.length) return null;
  const chosen = draft.mcpServerIds ?? from?.mcpServerIds ?? [];
  const toggle = (id: string, on: boolean) =>
    set({ mcpServerIds: on ? [...chosen, id] : chosen.filter((one) => one !== id) });
  return (
    <Part label="MCP servers">
      {servers.map((server) => (
        <label className={css.check} key={server.id}>
          <input
            type="checkbox"
            checked={chosen.includes(server.id)}
            onChange={(event) => toggle(server.id, event.target.checked)}
          />
          {server.name}
        </label>
      ))}
    </Part>
  );
}
