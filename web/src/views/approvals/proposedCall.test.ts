import { describe, expect, it } from "vitest";
import {
  createsSession,
  editableArguments,
  factsOf,
  proposalOf,
  proposalTitle,
  withEdits,
} from "./proposedCall";

describe("calls of Bough's tools", () => {
  const call = (tool: string, args: Record<string, unknown>) =>
    proposalOf({ toolCall: { tool, arguments: args } });

  it("are described by what they do", () => {
    expect(proposalTitle(call("agor_sessions_create", {}))).toBe("The agent wants to start a session");
    expect(proposalTitle(call("agor_sessions_prompt", { mode: "fork" }))).toBe(
      "The agent wants to fork a session",
    );
    expect(proposalTitle(call("agor_something_new", {}))).toBe("The agent wants to use a Bough tool");
  });

  it("have labels for their arguments", () => {
    const facts = factsOf(
      call("agor_sessions_prompt", { mode: "btw", permissionMode: "plan", prompt: "x", taskId: null }),
    );
    expect(facts.map(({ label, value }) => `${label}: ${value}`)).toEqual([
      "Action: Side question",
      "Mode: Plan",
      "Prompt: x",
    ]);
  });

  it("that create sessions are edited in the form of a new session", () => {
    expect(createsSession("agor_sessions_spawn")).toBe(true);
    expect(createsSession("create_session")).toBe(true);
    expect(createsSession("agor_sessions_prompt")).toBe(false);
  });

  it("can be edited in their texts, and forks and children in agent and mode as well", () => {
    const names = (args: Record<string, unknown>) =>
      editableArguments(call("agor_sessions_prompt", args)).map((argument) => argument.name);
    expect(names({ sessionId: "s", prompt: "x", mode: "continue" })).toEqual(["prompt"]);
    expect(names({ prompt: "x", mode: "fork" })).toEqual([
      "prompt",
      "title",
      "agenticTool",
      "permissionMode",
    ]);
    expect(names({ prompt: "x", mode: "btw" })).toEqual(["prompt", "title"]);
  });

  it("keep arguments that were not edited, and lose emptied ones", () => {
    const proposal = call("agor_sessions_prompt", { sessionId: "s", prompt: "x", title: "t", mode: "fork" });
    expect(withEdits(proposal, { prompt: "y", title: "", agenticTool: "" })).toEqual({
      sessionId: "s",
      prompt: "y",
      mode: "fork",
    });
  });
});
