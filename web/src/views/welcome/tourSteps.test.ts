import { describe, expect, it } from "vitest";
import type { Node, Tree } from "@/api/types";
import { currentStep, STEPS } from "./tourSteps";

const node = (more: Partial<Node>): Node =>
  ({ id: more.kind ?? "root", kind: "root", activity: "idle", queued: 0, turns: 0, ...more }) as Node;
const tree = (...sessions: Node[]): Tree => ({ rootSessionId: "root", sessions }) as unknown as Tree;
const stateOf = (at: number, of: Tree) => STEPS[at]!.state(of);

describe("the tour", () => {
  it("starts with the first step", () => {
    expect(currentStep(tree(node({})))).toBe(0);
    expect(stateOf(0, tree(node({ activity: "running" })))).toBe("running");
  });

  it("counts a pending approval as a running step", () => {
    expect(stateOf(1, tree(node({ turns: 1, activity: "waiting_permission" })))).toBe("running");
    expect(stateOf(1, tree(node({ turns: 1 })))).toBe("todo");
    expect(currentStep(tree(node({ turns: 2 })))).toBe(2);
  });

  it("waits for the parent to have read its child's report", () => {
    const child = node({ kind: "subsession", turns: 1 });
    expect(stateOf(3, tree(node({ turns: 2, activity: "running" }), child))).toBe("running");
    expect(stateOf(3, tree(node({ turns: 3 }), child))).toBe("done");
  });

  it("is complete when the side question was answered, though the long turn continues", () => {
    const all = tree(
      node({ turns: 3, activity: "running" }),
      node({ kind: "fork", turns: 1 }),
      node({ kind: "subsession", turns: 1 }),
      node({ kind: "btw", turns: 1 }),
    );
    expect(currentStep(all)).toBe(STEPS.length);
  });
});
