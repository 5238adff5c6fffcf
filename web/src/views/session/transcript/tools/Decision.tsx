/** Shows the decision about a tool call: who made it, how far it reaches and why, with an undo for "always". */
import { useQuery } from "@tanstack/react-query";
import { ShieldCheck, ShieldX } from "lucide-react";
import { useState } from "react";
import { removeChoice, runRequest } from "@/api/actions";
import { answeringChoicesQuery, useMay, useMe } from "@/api/queries";
import { Button } from "@/ui/controls/Button";
import { toast } from "@/ui/feedback/toast";
import css from "./ToolCall.module.css";
import { decisionText, type ToolDecision } from "./toolDecision";

export function Decision({ decision }: { decision: ToolDecision }) {
  const me = useMe().data?.name;
  return (
    <p
      className={`${css.decision} ${decision.decision === "denied" ? css.denied : ""}`}
      data-testid="decision"
    >
      {decision.decision === "denied" ? <ShieldX aria-hidden /> : <ShieldCheck aria-hidden />}
      <span className={css.decisionText}>{decisionText(decision, me)}</span>
      {decision.scope && decision.approvalId && (
        <Undo approvalId={decision.approvalId} scope={decision.scope} />
      )}
    </p>
  );
}

/** Takes an "always" back, so that the next such use is asked about again. */
function Undo({ approvalId, scope }: { approvalId: string; scope: string }) {
  const choices = useQuery(answeringChoicesQuery(approvalId)).data;
  const choice = choices?.find((other) => other.scope === scope);
  const mayUndo = useMay("operator");
  const [busy, setBusy] = useState(false);
  // While this loads, or cannot be loaded, nobody knows.
  if (!choices) return null;
  if (!choice) return <span className={css.undone}>No longer in force.</span>;
  if (!mayUndo) return null;
  const undo = async () => {
    setBusy(true);
    if (await runRequest(() => removeChoice(choice.id))) toast("Bough asks about this again.");
    setBusy(false);
  };
  return (
    <Button size="small" variant="quiet" busy={busy} onClick={() => void undo()}>
      Undo “always”
    </Button>
  );
}
