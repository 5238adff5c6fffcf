/** Reads and words the decision that the transcript records with a tool call. */
import type { Content } from "@/api/types";

export interface ToolDecision {
  decision: "allowed" | "denied";
  /** `person`, or what decided for people: `rule`, `choice`, `mode`, `system` and others. */
  by: string;
  user?: string;
  scope?: string;
  because?: string;
  reason?: string;
  approvalId?: string;
}

const SCOPES: Record<string, string> = {
  session: "always in this session",
  worktree: "always in this folder",
  everywhere: "always, everywhere",
};

const text = (value: unknown) => (typeof value === "string" && value ? value : undefined);

/** Returns the decision worth showing: a person's, an expired one's, and any denial. What policy allows goes without
 * saying. */
export function decisionOf(content: Content): ToolDecision | null {
  const record = content.permission as Record<string, unknown> | null | undefined;
  const decision = record?.decision;
  if (!record || (decision !== "allowed" && decision !== "denied")) return null;
  const approvalId = text(record.approvalId);
  if (decision === "allowed" && !approvalId) return null;
  return {
    decision,
    by: text(record.by) ?? "",
    user: text(record.user),
    scope: text(record.scope),
    because: text(record.because),
    reason: text(record.reason),
    approvalId,
  };
}

/** Words a decision; `me` is the name of the person who reads it, and the owner's prompts and answers have no name. */
export function decisionText(
  { decision, by, user, scope, because, reason }: ToolDecision,
  me?: string,
): string {
  const name = user ?? "owner";
  const isPerson = by === "person";
  const byWhom = isPerson
    ? name === me
      ? " by you"
      : ` by ${user ?? "the owner"}`
    : by === "system"
      ? ""
      : " by policy";
  const reach = scope ? `, ${SCOPES[scope] ?? "always"}` : "";
  const why = because ?? (isPerson ? undefined : reason);
  const sentence = `${decision === "denied" ? "Denied" : "Allowed"}${byWhom}${reach}`;
  return why ? `${sentence}: ${why}` : `${sentence}.`;
}
