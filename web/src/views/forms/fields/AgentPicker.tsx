/** Chooses an agent; agents that are not installed are listed with how to install them. */
import { useId } from "react";
import { useAgents } from "@/api/queries";
import type { Agent } from "@/api/types";
import { QueryResult, Skeleton } from "@/ui/feedback/Placeholders";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge } from "@/ui/labels/Badge";
import { Choice, Fold } from "@/views/forms/layout/FormParts";
import css from "@/views/forms/layout/form.module.css";
import { isReady, loginHint, readiness, sortedByReadiness } from "@/views/forms/state/agentReadiness";
import fields from "./fields.module.css";

export function AgentPicker({
  value,
  onChange,
  own,
}: {
  value: string | null;
  onChange: (agent: string) => void;
  /** The agent of the session that is forked or spawned from. */
  own?: string;
}) {
  const agents = useAgents();
  return (
    <QueryResult query={agents} loading={<Skeleton lines={3} />}>
      {(known) => <Agents agents={known} value={value} onChange={onChange} own={own} />}
    </QueryResult>
  );
}

function Agents({
  agents,
  value,
  onChange,
  own,
}: {
  agents: Agent[];
  value: string | null;
  onChange: (agent: string) => void;
  own?: string;
}) {
  const name = useId();
  const missing = agents.filter((agent) => !isReady(agent));
  return (
    <>
      <div className={css.choices}>
        {sortedByReadiness(agents).map((agent) => (
          <Choice
            key={agent.name}
            name={name}
            checked={agent.name === value}
            onChoose={() => onChange(agent.name)}
            mark={<AgentMark agent={agent.name} />}
            title={agent.title}
            marks={
              <>
                {agent.name === own && <Badge>current</Badge>}
                {agent.isDefault && agent.name !== own && <Badge>default</Badge>}
                {loginHint(agent) && <Badge tone="waiting">not logged in</Badge>}
                {agent.name !== value && (agent.how === "npx" || agent.how === "uvx") && (
                  <span className={fields.quiet}>installs on first use</span>
                )}
              </>
            }
          >
            {agent.name === value && (
              <>
                <span>{agent.description}</span>
                <span>{loginHint(agent) ?? readiness(agent)}</span>
              </>
            )}
          </Choice>
        ))}
      </div>
      {missing.length > 0 && (
        <Fold label="Not installed" value={missing.map((agent) => agent.title).join(", ")}>
          {missing.map((agent) => (
            <div key={agent.name} className={css.row}>
              <AgentMark agent={agent.name} />
              <span className={css.choiceText}>
                <span className={css.choiceTitle}>{agent.title}</span>
                <span className={css.choiceAbout}>{agent.error ?? agent.install}</span>
              </span>
            </div>
          ))}
        </Fold>
      )}
    </>
  );
}
