/** Tells whether an agent can be chosen, and what it still needs. */
import type { Agent } from "@/api/types";

export const isReady = (agent: Agent): boolean => agent.how !== "missing" && !agent.error;

export function readiness(agent: Agent): string {
  if (agent.error) return agent.error;
  if (agent.how === "missing") return "Not installed.";
  if (agent.how === "npx" || agent.how === "uvx") return "Installs on first use.";
  if (agent.registry) return `Version ${agent.registry.version}, not measured by Bough.`;
  return agent.version ? `Installed, ${agent.version}.` : "Installed.";
}

/** Returns how to log in to an agent, or null if it is logged in or Bough cannot tell. */
export const loginHint = (agent: Agent): string | null =>
  agent.login.found === false && agent.login.how ? `Not logged in. ${agent.login.how}` : null;

/** Picks the agent of an empty form: the wished one if it is ready, else the default, else the first that is ready. */
export function pickAgent(agents: Agent[], wished: string | null | undefined): string | null {
  const ready = agents.filter(isReady);
  const picked =
    ready.find((item) => item.name === wished) ?? ready.find((item) => item.isDefault) ?? ready[0] ?? null;
  return picked?.name ?? null;
}

export const agentTitle = (agents: Agent[] | undefined, name: string | null): string =>
  agents?.find((agent) => agent.name === name)?.title ?? name ?? "none";

/** Sorts ready agents: the default first, those without a login last. */
export const sortedByReadiness = (agents: readonly Agent[]): Agent[] =>
  agents
    .filter(isReady)
    .map((agent, at) => ({ agent, at, rank: (loginHint(agent) ? 2 : 1) - (agent.isDefault ? 1 : 0) }))
    .sort((a, b) => a.rank - b.rank || a.at - b.at)
    .map(({ agent }) => agent);
