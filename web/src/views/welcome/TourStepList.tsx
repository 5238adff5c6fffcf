/** Lists the steps of the tour, with the button for the next one. */
import { CircleCheck, CircleDashed, Hand, LoaderCircle } from "lucide-react";
import { useState } from "react";
import { runRequest } from "@/api/actions";
import type { AgentTour, Tree } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { STEPS, type Step, waitsForUser } from "./tourSteps";
import css from "./Welcome.module.css";

interface Props {
  rootId: string;
  /** The agent's prompts, once they are loaded. */
  prompts: AgentTour | undefined;
  tree: Tree;
  /** The number of the current step. */
  at: number;
}

export function TourStepList({ rootId, prompts, tree, at }: Props) {
  const [busy, setBusy] = useState(false);
  const run = async (step: Step) => {
    if (!prompts) return;
    setBusy(true);
    await runRequest(() => step.run(rootId, prompts));
    setBusy(false);
  };
  return (
    <ol className={css.steps}>
      {STEPS.map((step, number) => {
        const state = step.state(tree);
        const now = number === at;
        return (
          <li key={step.name} className={now ? css.now : undefined} aria-current={now ? "step" : undefined}>
            <h2 className={css.step}>
              {state === "done" ? (
                <CircleCheck aria-label="Done" />
              ) : state === "running" && waitsForUser(tree) ? (
                <Hand aria-label="Needs your approval" className={css.waits} />
              ) : state === "running" ? (
                <LoaderCircle aria-label="In progress" className={css.spin} />
              ) : (
                <CircleDashed aria-label="To do" />
              )}
              {step.name}
            </h2>
            {now && (
              <>
                <p className={css.soft}>{step.words}</p>
                {state === "todo" && (
                  <Button variant="primary" busy={busy} disabled={!prompts} onClick={() => void run(step)}>
                    {step.button}
                  </Button>
                )}
              </>
            )}
          </li>
        );
      })}
    </ol>
  );
}
