/** Which agent: its initial on a colour of its own, with its name. */
import css from "./AgentMark.module.css";

const HUES: Record<string, number> = {
  "claude-code": 25,
  codex: 160,
  gemini: 220,
  opencode: 280,
  copilot: 200,
  demo: 110,
};

const hueOf = (agent: string) =>
  HUES[agent] ?? [...agent].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 360, 7);

export function AgentMark({ agent, name = false }: { agent: string; name?: boolean }) {
  return (
    <span
      className={css.agent}
      title={name ? undefined : agent}
      style={{ "--hue": hueOf(agent) } as React.CSSProperties}
    >
      <span className={css.initial} aria-hidden>
        {agent.charAt(0).toUpperCase()}
      </span>
      <span className={name ? css.name : "visually-hidden"}>{agent}</span>
    </span>
  );
}
