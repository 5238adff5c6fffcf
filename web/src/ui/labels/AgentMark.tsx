/** Names an agent: its initial on a color derived from its name, and the name itself. */
import type { CSSProperties } from "react";
import css from "./AgentMark.module.css";

/** Returns the same hue for the same name, so that an agent looks alike everywhere. */
const hueOf = (agent: string) =>
  [...agent].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) % 360, 7);

export function AgentMark({ agent, showName = false }: { agent: string; showName?: boolean }) {
  return (
    <span
      className={css.agent}
      title={showName ? undefined : agent}
      style={{ "--hue": hueOf(agent) } as CSSProperties}
    >
      <span className={css.initial} aria-hidden>
        {agent.charAt(0).toUpperCase()}
      </span>
      <span className={showName ? css.name : "visually-hidden"}>{agent}</span>
    </span>
  );
}
