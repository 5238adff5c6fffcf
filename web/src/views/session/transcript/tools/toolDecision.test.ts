import { describe, expect, it } from "vitest";
import type { Content } from "@/api/types";
import { decisionOf, decisionText } from "./toolDecision";

const content = (permission: unknown) => ({ type: "tool", permission }) as unknown as Content;

describe("the decision about a tool call", () => {
  it("names who decided, how far it reaches and why", () => {
    const person = { by: "person", approvalId: "a1" };
    expect(decisionText({ decision: "allowed", ...person }, "owner")).toBe("Allowed by you.");
    expect(decisionText({ decision: "allowed", ...person }, "ada")).toBe("Allowed by the owner.");
    expect(decisionText({ decision: "allowed", ...person, user: "ada", scope: "worktree" }, "owner")).toBe(
      "Allowed by ada, always in this folder.",
    );
    expect(decisionText({ decision: "denied", ...person, because: "Use make." }, "owner")).toBe(
      "Denied by you: Use make.",
    );
    expect(decisionText({ decision: "denied", by: "system", reason: "Nobody answered in time." })).toBe(
      "Denied: Nobody answered in time.",
    );
    expect(decisionText({ decision: "denied", by: "rule", reason: "No builds." })).toBe(
      "Denied by policy: No builds.",
    );
  });

  it("is not shown for what policy allows", () => {
    expect(decisionOf(content({ decision: "allowed", by: "mode", reason: "Mode." }))).toBeNull();
    expect(decisionOf(content(undefined))).toBeNull();
    expect(decisionOf(content({ decision: "denied", by: "rule", reason: "No." }))?.by).toBe("rule");
    expect(decisionOf(content({ decision: "allowed", by: "person", approvalId: "a" }))?.approvalId).toBe("a");
  });
});
