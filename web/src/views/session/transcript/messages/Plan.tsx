/** Shows the agent's plan: its steps and their progress. */
import { Circle, CircleCheck, CircleDot, ListChecks } from "lucide-react";
import type { PlanStep } from "@/api/types";
import css from "./Plan.module.css";

const STATUS_MARKS = {
  pending: { icon: <Circle />, label: "To do" },
  in_progress: { icon: <CircleDot />, label: "In progress" },
  completed: { icon: <CircleCheck />, label: "Done" },
};

export function Plan({ steps }: { steps: PlanStep[] }) {
  const done = steps.filter((step) => step.status === "completed").length;
  return (
    <section className={css.plan} aria-label="Plan">
      <div className={css.head}>
        <ListChecks aria-hidden />
        <span>Plan</span>
        <span className={css.count}>
          {done} of {steps.length} done
        </span>
      </div>
      <ol className={css.steps}>
        {steps.map((step, at) => {
          const mark = STATUS_MARKS[step.status] ?? STATUS_MARKS.pending;
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a plan is replaced as a whole
            <li key={at} data-status={step.status}>
              <span aria-hidden>{mark.icon}</span>
              <span className="visually-hidden">{mark.label}: </span>
              <span className={css.text}>{step.content}</span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
