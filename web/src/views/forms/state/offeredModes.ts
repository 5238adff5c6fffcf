/** The modes that a form offers, and which of them cannot be chosen. */
import type { Agent, Mode } from "@/api/types";
import { MODES } from "@/lib/words";

const RANK: Record<Mode, number> = {
  plan: 0,
  default: 1,
  ask: 1,
  acceptEdits: 2,
  auto: 3,
  "on-failure": 3,
  bypassPermissions: 4,
  "allow-all": 4,
};

export const grantsMore = (mode: Mode, bound: Mode): boolean => RANK[mode] > RANK[bound];

export interface OfferedMode {
  mode: Mode;
  name: string;
  description: string;
  /** How this agent implements it. */
  note: string;
  /** The reason why it cannot be chosen. */
  refused: string | null;
}

/** Returns all modes; those that the agent does not have are refused. */
export function offeredModes(agent: Agent | undefined): OfferedMode[] {
  return MODES.map(({ mode, name, description }) => {
    const mapping = agent?.modes[mode];
    const unknown = agent && Object.keys(agent.modes).length > 0 && !mapping;
    const refused = unknown ? `${agent.title} does not support this mode.` : null;
    return { mode, name, description, note: mapping?.note ?? "", refused };
  });
}
