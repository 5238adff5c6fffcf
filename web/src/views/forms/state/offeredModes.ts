/** Which modes a form offers: synonyms once, and none with more rights than the session may give. */
import type { Agent, Mode } from "@/api/types";
import { MODES } from "@/lib/words";

const SYNONYMS: Partial<Record<Mode, Mode>> = { ask: "default", "allow-all": "bypassPermissions" };

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

export const isAbove = (mode: Mode, bound: Mode): boolean => RANK[mode] > RANK[bound];

export interface OfferedMode {
  mode: Mode;
  name: string;
  words: string;
  /** What this agent really does in it. */
  note: string;
  /** Why it cannot be chosen. */
  refused: string | null;
}

export function offeredModes(value: Mode | null, agent: Agent | undefined, most?: Mode): OfferedMode[] {
  return MODES.filter(({ mode }) => {
    const twin = SYNONYMS[mode];
    if (twin) return mode === value;
    return !(value && SYNONYMS[value] === mode);
  }).map(({ mode, name, words }) => {
    const its = agent?.modes[mode];
    const unknown = agent && Object.keys(agent.modes).length > 0 && !its;
    const refused =
      most && isAbove(mode, most)
        ? "More than the session itself may do."
        : unknown
          ? `${agent.title} has nothing like it.`
          : null;
    return { mode, name, words, note: its?.note ?? "", refused };
  });
}
