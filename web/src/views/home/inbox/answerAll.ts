/** Answers several approvals, one after the other. */
import { answerApproval } from "@/api/actions";
import { ApiError } from "@/api/client";
import { plural } from "@/lib/format";
import { toast, toastError } from "@/ui/feedback/toast";
import { decidedOnThisPage } from "@/views/approvals/DecidedApproval";

export type PlainDecision = "allow" | "deny";

/** Sends an answer for each; what somebody else has answered or removed meanwhile is left as it is. Returns whether all
 * have an answer: at the first other error it stops. */
export async function answerAll(approvalIds: readonly string[], decision: PlainDecision): Promise<boolean> {
  let answered = 0;
  let complete = true;
  for (const id of approvalIds) {
    decidedOnThisPage.add(id);
    try {
      await answerApproval(id, { decision });
      answered++;
    } catch (error) {
      decidedOnThisPage.delete(id);
      if (!(error instanceof ApiError) || (error.status !== 409 && error.status !== 404)) {
        toastError(error);
        complete = false;
        break;
      }
    }
  }
  if (approvalIds.length > 1 && answered)
    toast(`${decision === "allow" ? "Allowed" : "Denied"} ${plural(answered, "approval")}.`);
  return complete;
}
