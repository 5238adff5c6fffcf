/** Keeps what is read from tool calls right, over the ways in which agents word them. */
import { describe, expect, it } from "vitest";
import type { Content } from "@/api/types";
import { edits, lastMessageOf, said, sessionOf, stateOf, terminalOf } from "./toolMessage";

const tool = (change: Partial<Content>): Content => ({ type: "tool", ...change });

describe("tool calls", () => {
  it("know how they went", () => {
    const state = (result: Record<string, unknown>, over = false) => stateOf(tool({ result }), over);
    expect(state({ status: "in_progress" })).toBe("running");
    expect(state({ status: "in_progress" }, true)).toBe("unfinished");
    expect(state({ status: "completed" })).toBe("ok");
    expect(state({ status: "failed" })).toBe("failed");
    expect(state({ status: "failed", note: "This was denied, and not done." })).toBe("denied");
    expect(stateOf(tool({ result: { status: "failed" }, permission: { decision: "denied" } }), true)).toBe(
      "denied",
    );
    expect(stateOf(tool({}), false)).toBe("running");
  });

  it("print what commands printed, however the agent tells it", () => {
    const printed = (result: Record<string, unknown>) =>
      terminalOf(tool({ kind: "execute", args: { command: "ls" }, result }));
    expect(printed({ output: { output: "a\n", exitCode: 3 } })).toEqual({
      command: "ls",
      output: "a\n",
      exitCode: 3,
      signal: null,
    });
    expect(printed({ output: "a", exitCode: 0, signal: null })).toMatchObject({ output: "a", exitCode: 0 });
    expect(printed({ output: { stdout: "a", stderr: "b", exit_code: 1 } })).toMatchObject({
      output: "a\nb",
      exitCode: 1,
    });
    const content = [{ type: "content", content: { type: "text", text: "\u001b[31mred\u001b[0m" } }];
    expect(printed({ content })).toMatchObject({ output: "red", exitCode: null });
    expect(terminalOf(tool({ kind: "read" }))).toBeNull();
    expect(terminalOf(tool({ kind: "execute", args: { command: ["git", "log"] } }))?.command).toBe("git log");
  });

  it("tell differences from words", () => {
    const content = [
      { type: "diff", path: "a", oldText: null, newText: "x" },
      { type: "content", content: { type: "text", text: "word" } },
      { type: "content", content: { type: "image", data: "" } },
      "nonsense",
    ];
    const one = tool({ result: { content } });
    expect(edits(one)).toEqual([{ path: "a", oldText: null, newText: "x" }]);
    expect(said(one)).toEqual({ text: "word", others: [{ type: "image", data: "" }] });
  });

  it("find the session that was opened", () => {
    expect(sessionOf(tool({ result: { output: { structuredContent: { sessionId: "s1" } } } }))).toBe("s1");
    expect(sessionOf(tool({ result: { output: "text" } }))).toBeNull();
  });
});

describe("reports of children", () => {
  it("have their own words at the end", () => {
    expect(lastMessageOf("Status: x\n\nIts last message:\n> one\n>\n> two\n\nMore")).toBe("one\n\ntwo");
    expect(lastMessageOf("Status: x")).toBeNull();
  });
});
