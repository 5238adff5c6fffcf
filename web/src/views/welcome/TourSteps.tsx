/** Lists the steps of the tour, with the button for the next one. */
import { CircleCheck, CircleDashed, LoaderCircle } from "lucide-react";
import { useState } from "react";
import { act } from "@/api/actions";
import type { Tree } from "@/api/types";
import { Button } from "@/ui/controls/Button";
import { STEPS, type TourIds } from "./tour";
import css from "./Welcome.module.css";

export function TourSteps({ tour, tree, at }: { tour: TourIds; tree: Tree; at: number }) {
  const [busy, setBusy] = useState(false);
  const run = async (step: (typeof STEPS)[number]) => {
    setBusy(true);
    await act(() => step.run(tour));
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
                  <Button look="primary" busy={busy} onClick={() => void run(step)}>
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
