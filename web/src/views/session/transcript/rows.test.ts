/** Keeps the rows of a transcript right: where tasks end, where a fork began, and what was added in front. */
import { describe, expect, it } from "vitest";
import type { Message } from "@/api/types";
import { type Given, isPrepended, rowsOf } from "./rows";

type Spec = [id: string, taskId: string | null, type?: string, sessionId?: string];

function rows(specs: Spec[], change: Partial<Given> = {}) {
  const messages = new Map(
    specs.map(([id, taskId, type = "text", sessionId = "s"]) => [
      id,
      { id, taskId, sessionId, content: { type } } as Message,
    ]),
  );
  return rowsOf({
    ids: [...messages.keys()],
    message: (id) => messages.get(id),
    sessionId: "s",
    older: false,
    newer: false,
    isFork: false,
    ...change,
  });
}
const keys = (...given: Parameters<typeof rows>) => rows(...given).map((row) => row.key);

describe("rows", () => {
  it("end each task with a line, behind what was said aside", () => {
    expect(
      keys([
        ["a", "1"],
        ["b", null],
        ["c", "1"],
        ["d", "2"],
      ]),
    ).toEqual(["a", "b", "c", "task:1", "d", "task:2"]);
  });

  it("leave the line of a task out whose end is not here", () => {
    expect(
      keys(
        [
          ["a", "1"],
          ["b", "2"],
        ],
        { newer: true },
      ),
    ).toEqual(["a", "task:1", "b"]);
  });

  it("put tools and thoughts close together", () => {
    const found = rows([
      ["a", "1"],
      ["b", "1", "tool"],
      ["c", "1", "thought"],
      ["d", "2", "tool"],
    ]);
    expect(found.map((row) => row.kind === "message" && row.tight)).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
    ]);
  });

  it("say where a fork began", () => {
    const past: Spec = ["p", "0", "text", "parent"];
    expect(keys([past, ["a", "1"]], { isFork: true })).toEqual(["p", "task:0", "fork", "a", "task:1"]);
    expect(keys([["a", "1"]], { isFork: true })).toEqual(["fork", "a", "task:1"]);
    expect(keys([["a", "1"]], { isFork: true, older: true })).toEqual(["a", "task:1"]);
    expect(keys([past], { isFork: true })).toEqual(["p", "task:0", "fork"]);
  });

  it("know what was added in front from what came behind", () => {
    const few = rows([
      ["b", null],
      ["c", null],
    ]);
    expect(
      isPrepended(
        few,
        rows([
          ["a", null],
          ["b", null],
          ["c", null],
        ]),
      ),
    ).toBe(true);
    expect(
      isPrepended(
        few,
        rows([
          ["b", null],
          ["c", null],
          ["d", null],
        ]),
      ),
    ).toBe(false);
    expect(isPrepended([], few)).toBe(false);
    expect(
      isPrepended(
        few,
        rows([
          ["x", null],
          ["y", null],
          ["z", null],
        ]),
      ),
    ).toBe(false);
  });
});
