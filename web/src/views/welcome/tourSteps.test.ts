import { describe, expect, it } from "vitest";
import type { Node, Tree } from "@/api/types";
import { currentStep, STEPS, shownSession, unreadAfterTour, waitsForUser } from "./tourSteps";

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
    expect(waitsForUser(tree(node({ turns: 1, activity: "waiting_permission" })))).toBe(true);
    expect(waitsForUser(tree(node({ turns: 1, activity: "running" })))).toBe(false);
    expect(stateOf(1, tree(node({ turns: 1 })))).toBe("todo");
    expect(currentStep(tree(node({ turns: 2 })))).toBe(2);
  });

  it("waits for the parent to have read its child's report", () => {
    const child = node({ kind: "subsession", turns: 1 });
    expect(stateOf(3, tree(node({ turns: 2, activity: "running" }), child))).toBe("running");
    expect(stateOf(3, tree(node({ turns: 3 }), child))).toBe("done");
  });

  const played = (root: Partial<Node>) =>
    tree(
      node(root),
      node({ kind: "fork", turns: 1 }),
      node({ kind: "subsession", turns: 1, unread: true }),
      node({ kind: "btw", turns: 1 }),
    );

  it("is complete when the side question was answered and the long turn is over", () => {
    expect(currentStep(played({ turns: 3, activity: "running" }))).toBe(STEPS.length - 1);
    expect(stateOf(STEPS.length - 1, played({ turns: 3, activity: "running" }))).toBe("running");
    expect(currentStep(played({ turns: 4 }))).toBe(STEPS.length);
    // A later turn of the same session is no step back.
    expect(currentStep(played({ turns: 4, activity: "running" }))).toBe(STEPS.length);
  });

  it("leaves nothing unread", () => {
    expect(unreadAfterTour(played({ turns: 3, activity: "running", unread: true }))).toEqual([]);
    expect(unreadAfterTour(played({ turns: 4, unread: true }))).toEqual(["root", "subsession"]);
    expect(unreadAfterTour(played({ turns: 4 }))).toEqual(["subsession"]);
  });

  it("shows a step's result until the next step begins", () => {
    const fork = node({ kind: "fork", turns: 1 });
    expect(shownSession(tree(node({ turns: 2 }), fork))).toBe("fork");
    const child = node({ kind: "subsession", activity: "running" });
    expect(shownSession(tree(node({ turns: 2 }), fork, child))).toBe("subsession");
    expect(shownSession(tree(node({ turns: 3 }), fork, { ...child, turns: 1, activity: "idle" }))).toBe(
      "root",
    );
  });
});
