/** Tests the rows of a transcript: where turns end, where a fork began, and which rows were prepended. */
import { describe, expect, it } from "vitest";
import type { Message } from "@/api/types";
import { isPrepended, type RowSource, rowsOf } from "./transcriptRows";

type Spec = [id: string, taskId: string | null, type?: string, sessionId?: string];

function rows(specs: Spec[], change: Partial<RowSource> = {}) {
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
    hasOlder: false,
    hasNewer: false,
    isFork: false,
    ...change,
  });
}
const keys = (...args: Parameters<typeof rows>) => rows(...args).map((row) => row.key);

describe("rows", () => {
  it("end each turn with a line, after messages without a task", () => {
    expect(
      keys([
        ["a", "1"],
        ["b", null],
        ["c", "1"],
        ["d", "2"],
      ]),
    ).toEqual(["a", "b", "c", "task:1", "d", "task:2"]);
  });

  it("leave out the line of a turn whose end is not loaded", () => {
    expect(
      keys(
        [
          ["a", "1"],
          ["b", "2"],
        ],
        { hasNewer: true },
      ),
    ).toEqual(["a", "task:1", "b"]);
  });

  it("show a prompt that was removed from the queue after the turn that ran then, without a line", () => {
    const removed = { wasRemoved: (taskId: string) => taskId === "2" || taskId === "3" };
    const specs: Spec[] = [
      ["a", "1"],
      ["b", "2"],
      ["c", "1"],
      ["d", "3"],
    ];
    expect(keys(specs, removed)).toEqual(["a", "c", "task:1", "b", "d"]);
    expect(keys([...specs, ["e", "4"]], removed)).toEqual(["a", "c", "task:1", "b", "d", "e", "task:4"]);
  });

  it("put tool calls and thoughts close together", () => {
    const built = rows([
      ["a", "1"],
      ["b", "1", "tool"],
      ["c", "1", "thought"],
      ["d", "2", "tool"],
    ]);
    expect(built.map((row) => row.kind === "message" && row.tight)).toEqual([
      false,
      false,
      true,
      false,
      false,
      false,
    ]);
  });

  it("mark where a fork began", () => {
    const inherited: Spec = ["p", "0", "text", "parent"];
    expect(keys([inherited, ["a", "1"]], { isFork: true })).toEqual(["p", "task:0", "fork", "a", "task:1"]);
    expect(keys([["a", "1"]], { isFork: true })).toEqual(["fork", "a", "task:1"]);
    expect(keys([["a", "1"]], { isFork: true, hasOlder: true })).toEqual(["a", "task:1"]);
    expect(keys([inherited], { isFork: true })).toEqual(["p", "task:0", "fork"]);
  });

  it("tell prepended rows from appended ones", () => {
    const initial = rows([
      ["b", null],
      ["c", null],
    ]);
    expect(
      isPrepended(
        initial,
        rows([
          ["a", null],
          ["b", null],
          ["c", null],
        ]),
      ),
    ).toBe(true);
    expect(
      isPrepended(
        initial,
        rows([
          ["b", null],
          ["c", null],
          ["d", null],
        ]),
      ),
    ).toBe(false);
    expect(isPrepended([], initial)).toBe(false);
    expect(
      isPrepended(
        initial,
        rows([
          ["x", null],
          ["y", null],
          ["z", null],
        ]),
      ),
    ).toBe(false);
  });
});
