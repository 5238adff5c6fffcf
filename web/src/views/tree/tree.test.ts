import { describe, expect, it } from "vitest";
import type { Callback, Node } from "@/api/types";
import { originEdges, reportEdges } from "./canvas/edges/edges";
import { heightOf, layOutTree, NODE_SIZE, neighbor, titleLines } from "./canvas/layout";
import { buildTree, busyFirst, originOf, splitFolded, walk } from "./lineage";

const node = (id: string, more: Partial<Node> = {}): Node =>
  ({
    id,
    kind: "root",
    parentSessionId: null,
    forkedFromSessionId: null,
    branchTaskId: null,
    archived: false,
    title: id,
    ...more,
  }) as Node;

/** A root with two children and a fork; one child has a fork (whose parent is the root) and an archived side question. */
const TREE = [
  node("root"),
  node("a", { kind: "subsession", parentSessionId: "root" }),
  node("b", { kind: "subsession", parentSessionId: "root" }),
  node("f", { kind: "fork", forkedFromSessionId: "root", branchTaskId: "t2" }),
  node("af", { kind: "fork", parentSessionId: "root", forkedFromSessionId: "a", branchTaskId: "t9" }),
  node("q", { kind: "btw", parentSessionId: "a", forkedFromSessionId: "a", archived: true }),
];

describe("lineage", () => {
  it("puts a fork below its source and a child below its parent", () => {
    expect(TREE.map(originOf)).toEqual([null, "root", "root", "root", "a", "a"]);
    const read = [...walk(buildTree(TREE))].map(([item, depth]) => `${depth}${item.id}`);
    expect(read).toEqual(["0root", "1a", "2af", "2q", "1b", "1f"]);
  });

  it("makes sessions whose origin is gone roots, but keeps a fork below its parent", () => {
    expect(buildTree(TREE.slice(1)).map((treeBranch) => treeBranch.node.id)).toEqual(["a", "b", "f"]);
    const without = TREE.filter((item) => item.id !== "a");
    expect(buildTree(without)[0]!.children.map((treeBranch) => treeBranch.node.id)).toEqual(["b", "f", "af"]);
  });

  it("folds side questions and archived sessions, except those with visible descendants", () => {
    const put = TREE.map((item) => (item.id === "a" || item.id === "b" ? { ...item, archived: true } : item));
    const { shown, folded } = splitFolded(buildTree(put));
    expect(folded.map((item) => item.id)).toEqual(["q", "b"]);
    expect([...walk(shown)].map(([item]) => item.id)).toEqual(["root", "a", "af", "f"]);
  });

  it("puts what waits and what runs first, with its origins", () => {
    const put = TREE.map((item) => {
      if (item.id === "f")
        return { ...item, status: "active" as const, activity: "waiting_permission" as const };
      if (item.id === "b") return { ...item, status: "active" as const, activity: "running" as const };
      return { ...item, status: "active" as const, activity: "idle" as const };
    });
    const other = { ...put[0]!, id: "other" };
    const ids = [...walk(busyFirst(buildTree([other, ...put])))].map(([item]) => item.id);
    expect(ids).toEqual(["root", "f", "b", "a", "af", "q", "other"]);
  });

  it("shows an archived root that has no other sessions", () => {
    const { shown, folded } = splitFolded(buildTree([node("root", { archived: true })]));
    expect([shown.length, folded.length]).toEqual([1, 0]);
  });
});

describe("layout", () => {
  for (const flow of ["right", "down"] as const)
    it(`puts nobody on top of another (${flow})`, () => {
      const many = [
        ...TREE,
        ...Array.from({ length: 30 }, (_, at) =>
          node(`n${at}`, { kind: "subsession", parentSessionId: at % 3 ? `n${at - 1}` : "b" }),
        ),
      ];
      const at = [...layOutTree(buildTree(many), flow).values()];
      expect(at).toHaveLength(many.length);
      for (const [n, point] of at.entries())
        for (const other of at.slice(n + 1))
          expect(
            Math.abs(point.x - other.x) >= NODE_SIZE.width || Math.abs(point.y - other.y) >= NODE_SIZE.height,
          ).toBe(true);
    });

  it("makes nodes high enough for whole titles, which still do not overlap", () => {
    expect(["Short", "x".repeat(60), "Twenty-seven letters, no more"].map(titleLines)).toEqual([1, 3, 2]);
    expect(titleLines("\u6f22".repeat(20))).toBe(2);
    const many = Array.from({ length: 12 }, (_, at) =>
      node(`n${at}`, {
        title: "A title that says a lot ".repeat(1 + (at % 4) * 2),
        kind: "subsession",
        parentSessionId: at ? `n${Math.floor((at - 1) / 3)}` : null,
      }),
    );
    const places = layOutTree(buildTree(many), "right", heightOf);
    for (const node of many)
      for (const other of many) {
        const [a, b] = [places.get(node.id)!, places.get(other.id)!];
        if (node !== other && a.x === b.x && a.y <= b.y) expect(b.y - a.y).toBeGreaterThan(heightOf(node));
      }
  });

  it("moves by relation", () => {
    const places = layOutTree(buildTree(TREE), "right");
    const go = (from: string, key: string) => neighbor(TREE, places, from, key, "right");
    expect(go("root", "ArrowRight")).toBe("a");
    expect(go("a", "ArrowDown")).toBe("b");
    expect(go("a", "ArrowUp")).toBeNull();
    expect(go("af", "ArrowLeft")).toBe("a");
    expect(go("root", "ArrowLeft")).toBeNull();
    expect(go("root", "x")).toBeNull();
    const lines = layOutTree(buildTree(TREE), "down");
    expect(neighbor(TREE, lines, "q", "ArrowDown", "down")).toBe("b");
    expect(neighbor(TREE, lines, "q", "ArrowLeft", "down")).toBe("a");
  });
});

describe("edges", () => {
  it("have a kind, and the turn of a fork if it is known", () => {
    const edges = originEdges(TREE, new Map([["t2", 2]]));
    expect(edges.map((treeEdge) => [treeEdge.id, treeEdge.data?.kind, treeEdge.label])).toEqual([
      ["root>a", "spawn", undefined],
      ["root>b", "spawn", undefined],
      ["root>f", "fork", "fork after turn 2"],
      ["a>af", "fork", "fork"],
      ["a>q", "sideQuestion", undefined],
    ]);
  });

  it("include the newest report of each child, animated until it is delivered", () => {
    const report = (id: string, state: Callback["state"], createdAt: string) =>
      ({ id, state, createdAt, childSessionId: "a", parentSessionId: "root" }) as Callback;
    const edges = reportEdges(TREE, [report("2", "queued", "2"), report("1", "delivered", "1")]);
    expect(
      edges.map((treeEdge) => [treeEdge.source, treeEdge.target, treeEdge.animated, treeEdge.label]),
    ).toEqual([["a", "root", true, "report queued"]]);
    expect(reportEdges(TREE, [{ ...report("1", "held", "1"), parentSessionId: "gone" }])).toEqual([]);
  });
});
