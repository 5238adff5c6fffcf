/** Settings of agents: which are installed, and how to install and log in to the others. */
import { Copy, RefreshCw } from "lucide-react";
import { useAgents } from "@/api/queries";
import type { Agent } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { toast } from "@/ui/feedback/toast";
import { AgentMark } from "@/ui/labels/AgentMark";
import { Badge } from "@/ui/labels/Badge";
import css from "./Settings.module.css";

export function AgentSettings() {
  const agents = useAgents();
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
      </div>
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
  return (
    <article className={css.card}>
      <div className={css.row}>
        <AgentMark agent={agent.name} />
        <Heading className={`${css.grow} ${css.name}`}>{agent.title}</Heading>
        {agent.isDefault && <Badge tone="accent">Default</Badge>}
        {agent.how === "installed" && (
          <Badge tone="done">Installed{agent.version && ` · ${agent.version}`}</Badge>
        )}
        {agent.how === "npx" && <Badge>Installs on first use</Badge>}
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
