/** The button beside *Queue* that does not wait for the end of the turn: into the turn where the agent takes prompts there,
 * otherwise instead of it. */
import { useAgents } from "@/api/queries";
import { Button } from "@/ui/controls/Button";
import css from "./Composer.module.css";

interface Props {
  agent: string;
  disabled: boolean;
  onSend: (when: "now" | "after_stop") => void;
}

export function SendNow({ agent, disabled, onSend }: Props) {
  const { data: agents } = useAgents();
  const known = agents?.find(({ name }) => name === agent);
  if (!known) return null;
  return known.steering ? (
    <Button
      className={css.sendNow}
      disabled={disabled}
      title="Puts the prompt into the running turn."
      onClick={() => onSend("now")}
    >
      Send now
    </Button>
  ) : (
    <Button
      className={css.sendNow}
      disabled={disabled}
      title={`${known.title} takes no prompts during a turn. Stops the turn, then sends the prompt.`}
      onClick={() => onSend("after_stop")}
    >
      Stop and send
    </Button>
  );
}
