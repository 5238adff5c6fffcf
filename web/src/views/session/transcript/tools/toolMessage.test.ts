/** Tests what is read from tool calls, however agents report them. */
import { describe, expect, it } from "vitest";
import type { Content } from "@/api/types";
import { editsOf, outputOf, sessionIdOf, terminalOf, toolState } from "./toolMessage";

const tool = (change: Partial<Content>): Content => ({ type: "tool", ...change });

describe("tool calls", () => {
  it("have a state", () => {
    const state = (result: Record<string, unknown>, taskEnded = false) =>
      toolState(tool({ result }), taskEnded);
    expect(state({ status: "in_progress" })).toBe("running");
    expect(state({ status: "in_progress" }, true)).toBe("unfinished");
    expect(state({ status: "completed" })).toBe("ok");
    expect(state({ status: "failed" })).toBe("failed");
    expect(state({ status: "failed", denied: true })).toBe("denied");
    expect(toolState(tool({ result: { status: "failed" }, permission: { decision: "denied" } }), true)).toBe(
      "denied",
    );
    expect(toolState(tool({}), false)).toBe("running");
  });

  it("show a command's output, however the agent reports it", () => {
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

  it("separate edits from other output", () => {
    const content = [
      { type: "diff", path: "a", oldText: null, newText: "x" },
      { type: "content", content: { type: "text", text: "word" } },
      { type: "content", content: { type: "image", data: "" } },
      "nonsense",
    ];
    const message = tool({ result: { content } });
    expect(editsOf(message)).toEqual([{ path: "a", oldText: null, newText: "x" }]);
    expect(outputOf(message)).toEqual({ text: "word", others: [{ type: "image", data: "" }] });
  });

  it("name the session they created", () => {
    expect(sessionIdOf(tool({ result: { output: { structuredContent: { sessionId: "s1" } } } }))).toBe("s1");
    expect(sessionIdOf(tool({ result: { output: "text" } }))).toBeNull();
  });
});
