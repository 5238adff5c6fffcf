import { describe, expect, it } from "vitest";
import type { Node } from "@/api/types";
import { type Folding, foldFinished, isFold, pathTo, type Shown } from "./foldFinished";
import { buildTree, walk } from "./lineage";

const node = (id: string, parent: string | null, more: Partial<Node> = {}): Node =>
  ({
    id,
    kind: parent ? "subsession" : "root",
    parentSessionId: parent,
    forkedFromSessionId: null,
    archived: false,
    title: id,
    status: "active",
    activity: "idle",
    queued: 0,
    asking: 0,
    held: 0,
    unread: false,
    ...more,
  }) as Node;

const name = (item: Shown) => (isFold(item) ? `${item.foldedBelow}+${item.sessions}` : item.id);
const read = (nodes: Node[], keep: string[] = [], folding: Folding = new Map()) =>
  [...walk(foldFinished(buildTree(nodes), keep, folding))].map(([item]) => name(item));

/** A root with 6 children of 5 children each: 37 sessions. */
const LARGE = [
  node("root", null),
  ...Array.from({ length: 6 }, (_, at) => [
    node(`c${at}`, "root"),
    ...Array.from({ length: 5 }, (_, below) => node(`c${at}.${below}`, `c${at}`)),
  ]).flat(),
];
const change = (id: string, more: Partial<Node>) =>
  LARGE.map((item) => (item.id === id ? { ...item, ...more } : item));

describe("folding", () => {
  it("shows a small tree whole, and folds what a person folds", () => {
    const small = LARGE.slice(0, 7);
    expect(read(small)).toEqual(small.map((item) => item.id));
    expect(read(small, [], new Map([["c0", false]]))).toEqual(["root", "c0", "c0+5"]);
  });

  it("folds everything finished into one line, and shows what was asked for", () => {
    expect(read(LARGE)).toEqual(["root", "root+36"]);
    expect(read(LARGE, [], new Map([["root", true]]))).toEqual([
      "root",
      ...Array.from({ length: 6 }, (_, at) => [`c${at}`, `c${at}+5`]).flat(),
    ]);
  });

  it("never folds what works, waits, failed or holds a report, nor the way to it", () => {
    for (const state of [
      { activity: "running" },
      { activity: "waiting_permission" },
      { asking: 1 },
      { queued: 2 },
      { failed: true },
      { held: 1 },
      { activity: "not_started" },
    ] as Partial<Node>[])
      expect(read(change("c3.2", state))).toEqual(["root", "c3", "c3.2", "c3+4", "root+30"]);
    expect(read(change("c3.2", { archived: true, failed: true }))).toEqual(["root", "root+36"]);
  });

  it("keeps the path to the open session and a few finished siblings", () => {
    expect(read(LARGE, pathTo(LARGE, "c1.4"))).toEqual(["root", "c1", "c1.4", "c1+4", "root+30"]);
    const fewer = [...LARGE.slice(0, 19), ...Array.from({ length: 9 }, (_, at) => node(`d${at}`, "c2"))];
    expect(read(fewer, pathTo(fewer, "c2"))).toEqual(["root", "c0", "c0+5", "c1", "c1+5", "c2", "c2+14"]);
  });

  it("counts unread sessions that it folds", () => {
    const branches = foldFinished(buildTree(change("c5.1", { unread: true })), [], new Map());
    expect(branches[0]!.children.map(({ node: item }) => isFold(item) && item.unread)).toEqual([1]);
  });

  it("finds the path even in a circle", () => {
    expect(pathTo([node("a", "b"), node("b", "a")], "a")).toEqual(["b", "a"]);
    expect(pathTo(LARGE, "gone")).toEqual([]);
  });
});
