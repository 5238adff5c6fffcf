/** Settings of agents: which are installed, and how to install and log in to the others. */
import { useQueryClient } from "@tanstack/react-query";
import { Copy, Plus, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { api, dataOf } from "@/api/client";
import { useAgents, useMay } from "@/api/queries";
import type { Agent } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge } from "@/ui/labels/Badge";
import { AddAgentDialog } from "./AddAgentDialog";
import css from "./Settings.module.css";

export function AgentSettings() {
  const agents = useAgents();
  const may = useMay("admin");
  const [adding, setAdding] = useState(false);
  return (
    <>
      <QueryResult query={agents}>
        {(list) => (
          <ul className={css.list}>
            {list.map((agent) => (
              <li key={agent.name}>
                <AgentCard agent={agent} />
              </li>
            ))}
          </ul>
        )}
      </QueryResult>
      <div className={css.actions}>
        <Button icon={<RefreshCw />} busy={agents.isFetching} onClick={() => void agents.refetch()}>
          Refresh
        </Button>
        {may && (
          <Button icon={<Plus />} onClick={() => setAdding(true)}>
            Add agent
          </Button>
        )}
      </div>
      {adding && <AddAgentDialog onClose={() => setAdding(false)} />}
    </>
  );
}

/** Returns the command inside a sentence like “Install it with: bough agents install NAME”. */
export const commandOf = (sentence: string): string | null => /:\s*(\S.*)$/.exec(sentence)?.[1] ?? null;

/** Renders text between backticks as code. */
const withCode = (sentence: string) =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one sentence never change places
  sentence.split("`").map((part, at) => (at % 2 ? <code key={at}>{part}</code> : part));

export function AgentCard({ agent, heading: Heading = "h2" }: { agent: Agent; heading?: "h2" | "h3" }) {
  const command = commandOf(agent.install);
  const missing = agent.how !== "installed";
  const fetched = agent.how === "npx" || agent.how === "uvx";
  return (
    <article className={css.card}>
      <div className={css.row}>
        <AgentMark agent={agent.name} />
        <Heading className={`${css.grow} ${css.name}`}>{agent.title}</Heading>
        {agent.isDefault && <Badge tone="accent">Default</Badge>}
        {agent.how === "installed" && (
          <Badge tone="done">Installed{agent.version && ` · ${agent.version}`}</Badge>
        )}
        {fetched && <Badge>Installs on first use</Badge>}
        {agent.registry && <Badge tone="waiting">Not measured</Badge>}
        {agent.registry && <RemoveAgent agent={agent} />}
        {agent.how === "missing" && <Badge tone="waiting">Not installed</Badge>}
        {agent.login.found === true && <Badge tone="done">Logged in</Badge>}
      </div>
      <p className={css.soft}>{agent.description}</p>
      {agent.error && <p className={css.soft}>{agent.error}</p>}
      {missing && command && <CopyLine text={command} />}
      {agent.login.found === false && <p className={css.soft}>Log in: {withCode(agent.login.how)}</p>}
    </article>
  );
}

function RemoveAgent({ agent }: { agent: Agent }) {
  const client = useQueryClient();
  const may = useMay("admin");
  const [busy, setBusy] = useState(false);
  if (!may) return null;
  const remove = async () => {
    setBusy(true);
    try {
      await dataOf(api.DELETE("/api/agents/{name}", { params: { path: { name: agent.name } } }));
      await client.invalidateQueries({ queryKey: ["agents"] });
    } catch (error) {
      toast(error instanceof Error ? error.message : "The agent was not removed.", { tone: "failed" });
    } finally {
      setBusy(false);
    }
  };
  return (
    <IconButton label={`Remove ${agent.title}`} size="small" disabled={busy} onClick={() => void remove()}>
      <Trash2 />
    </IconButton>
  );
}

export function CopyLine({ text }: { text: string }) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  };
  return (
    <div className={css.command}>
      <code>{text}</code>
      <IconButton label="Copy command" size="small" onClick={() => void copy()}>
        <Copy />
      </IconButton>
    </div>
  );
}
