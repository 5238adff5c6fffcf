/** How an agent stands, in words: can it be chosen, and what is missing before it works. */
import type { Agent } from "@/api/types";

export const isReady = (agent: Agent): boolean => agent.how !== "missing" && !agent.error;

export function readiness(agent: Agent): string {
  if (agent.error) return agent.error;
  if (agent.how === "missing") return "Not installed.";
  if (agent.how === "npx") return "Fetched when it is first used.";
  return agent.version ? `Installed, ${agent.version}.` : "Installed.";
}

/** What a person has to do before this agent answers; nothing if it is logged in, or if that cannot be told. */
export const loginHint = (agent: Agent): string | null =>
  agent.login.found === false && agent.login.how ? `Not logged in. ${agent.login.how}` : null;

/** Which one a form begins with: the one wished for if it can be used, else the default, else the first that can. */
export function pickAgent(agents: Agent[], wished: string | null | undefined): string | null {
  const ready = agents.filter(isReady);
  const found =
    ready.find((one) => one.name === wished) ?? ready.find((one) => one.isDefault) ?? ready[0] ?? null;
  return found?.name ?? null;
}

export const agentTitle = (agents: Agent[] | undefined, name: string | null): string =>
  agents?.find((one) => one.name === name)?.title ?? name ?? "none";

/** Those that answer at once before those that somebody has to log in to, the default first. */
export const inOrder = (agents: readonly Agent[]): Agent[] =>
  agents
    .filter(isReady)
    .map((agent, at) => ({ agent, at, rank: (loginHint(agent) ? 2 : 1) - (agent.isDefault ? 1 : 0) }))
    .sort((a, b) => a.rank - b.rank || a.at - b.at)
    .map(({ agent }) => agent);
