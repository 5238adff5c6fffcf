import { describe, expect, it } from "vitest";
import type { Approval } from "@/api/types";
import { answersOf, inFolder, partsOf, wordsOf } from "./approvalDetails";
import { left } from "./Countdown";
import { answeredHere, decidedWords } from "./DecidedApproval";
import { changedArguments, factsOf, fieldsOf, makesSession, proposalOf } from "./proposedCall";

const ONCE = { optionId: "yes-once", name: "Yes", kind: "allow_once" };
const ALWAYS = { optionId: "yes-always", name: "Always", kind: "allow_always" };
const NO = { optionId: "no", name: "No", kind: "reject_once" };

const approval = (over: Partial<Approval>): Approval =>
  ({
    id: "a1",
    title: "Do it",
    toolKind: "edit",
    toolCall: {},
    options: [ONCE, ALWAYS, NO],
    key: "edit: x",
    status: "pending",
    decidedBy: null,
    ...over,
  }) as Approval;

describe("what a question is about", () => {
  it("shows an edit as its difference, once", () => {
    const parts = partsOf(
      approval({
        toolCall: {
          content: [{ type: "diff", path: "/w/a.py", oldText: null, newText: "x" }],
          locations: [{ path: "/w/a.py" }],
          rawInput: { path: "/w/a.py", text: "x" },
        },
      }),
    );
    expect(parts).toEqual([{ type: "diff", path: "/w/a.py", oldText: null, newText: "x" }]);
  });

  it("shows a command, also one in pieces, and what else is said of it", () => {
    const [command, facts] = partsOf(
      approval({
        toolCall: { rawInput: { command: ["git", "push"], cwd: "/w", timeout: 5, description: "" } },
      }),
    );
    expect(command).toEqual({ type: "command", text: "git push", cwd: "/w" });
    expect(facts).toEqual({ type: "facts", facts: [{ name: "timeout", value: "5" }] });
  });

  it("leaves out no argument of a tool that it does not know", () => {
    expect(partsOf(approval({ toolCall: { rawInput: { url: "http://x", text: "t" } } }))).toEqual([
      {
        type: "facts",
        facts: [
          { name: "url", value: "http://x" },
          { name: "text", value: "t" },
        ],
      },
    ]);
    expect(partsOf(approval({ toolCall: {} }))).toEqual([]);
  });

  it("leaves out nothing that no other part shows", () => {
    const locations = [{ path: "/w/a" }];
    const written = partsOf(approval({ toolCall: { locations, rawInput: { path: "/w/a", content: "rm" } } }));
    expect(written.at(-1)).toEqual({ type: "facts", facts: [{ name: "content", value: "rm" }] });
    const elsewhere = partsOf(approval({ toolCall: { locations, rawInput: { path: "/etc/a" } } }));
    expect(elsewhere.at(-1)).toEqual({ type: "facts", facts: [{ name: "path", value: "/etc/a" }] });
    const twice = partsOf(approval({ toolCall: { rawInput: { command: "ls", cmd: "rm" } } }));
    expect(twice.at(-1)).toEqual({ type: "facts", facts: [{ name: "cmd", value: "rm" }] });
  });

  it("names the files that a repository brings", () => {
    const parts = partsOf(
      approval({ toolKind: "trust", toolCall: { locations: [{ path: "a" }, { path: "a" }, { path: "b" }] } }),
    );
    expect(parts).toEqual([{ type: "paths", paths: ["a", "b"] }]);
  });

  it("shows paths as seen from the folder", () => {
    expect(inFolder("Write /w/x/a.py", "/w/x")).toBe("Write a.py");
    expect(inFolder("Write /w/xy/a.py", "/w/x")).toBe("Write /w/xy/a.py");
    expect(inFolder("/tmp/w/x/a.py /w/x/b.py", "/w/x")).toBe("/tmp/w/x/a.py b.py");
  });
});

describe("how it can be answered", () => {
  it("offers always for what can be remembered", () => {
    expect(answersOf(approval({})).always).toBe(true);
    expect(answersOf(approval({ toolKind: "switch_mode" })).always).toBe(false);
    expect(answersOf(approval({ toolKind: "limit", key: null })).always).toBe(false);
    expect(answersOf(approval({ toolKind: "call" })).always).toBe(true);
    expect(answersOf(approval({ toolKind: "call", key: null })).always).toBe(false);
  });

  it("gives each of several ways to allow a button of its own", () => {
    const two = answersOf(approval({ options: [ONCE, { ...ONCE, optionId: "b", name: "Other" }, NO] }));
    expect(two.ways.map((way) => way.optionId)).toEqual(["yes-once", "b"]);
    expect(two.always).toBe(false);
  });

  it("has words of its own for what Bough asks", () => {
    expect(wordsOf({ toolKind: "interrupted" }).yes).toBe("Go on");
    expect(wordsOf({ toolKind: "trust" }).no).toBe("Drop the prompt");
    expect(wordsOf({ toolKind: "something" })).toMatchObject({ yes: "Allow", no: "Deny" });
  });

  it("says who answered", () => {
    const by = (kind: "person" | "policy") => approval({ status: "allowed", decidedBy: { kind, id: null } });
    expect(decidedWords(by("person"))).toBe("Allowed by a person");
    expect(decidedWords(by("policy"))).toBe("Allowed by policy");
    answeredHere.add("a1");
    expect(decidedWords(by("person"))).toBe("You allowed this");
    answeredHere.delete("a1");
    expect(decidedWords(approval({ status: "cancelled" }))).toBe("Withdrawn");
  });

  it("counts down", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(left("2026-01-01T00:01:05Z", now)).toBe("1:05");
    expect(left("2026-01-01T02:30:00Z", now)).toBe("2 h 30 min");
    expect(left("2025-12-31T00:00:00Z", now)).toBe("0:00");
  });
});

describe("calls of Bough's tools", () => {
  const call = (tool: string, given: Record<string, unknown>) =>
    proposalOf({ toolCall: { tool, arguments: given } });

  it("are told in words", () => {
    const facts = factsOf(
      call("agor_sessions_prompt", { mode: "btw", permissionMode: "plan", prompt: "x", taskId: null }),
    );
    expect(facts.map(({ label, value }) => `${label}: ${value}`)).toEqual([
      "How: Ask it aside",
      "Mode: Plan",
      "Prompt: x",
    ]);
  });

  it("that make sessions are changed in the form of a new session", () => {
    expect(makesSession("agor_sessions_spawn")).toBe(true);
    expect(makesSession("agor_sessions_prompt")).toBe(false);
  });

  it("can be changed in their texts, and branches in agent and mode as well", () => {
    const names = (given: Record<string, unknown>) =>
      fieldsOf(call("agor_sessions_prompt", given)).map((one) => one.name);
    expect(names({ sessionId: "s", prompt: "x", mode: "continue" })).toEqual(["prompt"]);
    expect(names({ prompt: "x", mode: "fork" })).toEqual([
      "prompt",
      "title",
      "agenticTool",
      "permissionMode",
    ]);
    expect(names({ prompt: "x", mode: "btw" })).toEqual(["prompt", "title"]);
  });

  it("keep what was not typed, and lose what was emptied", () => {
    const proposal = call("agor_sessions_prompt", { sessionId: "s", prompt: "x", title: "t", mode: "fork" });
    expect(changedArguments(proposal, { prompt: "y", title: "", agenticTool: "" })).toEqual({
      sessionId: "s",
      prompt: "y",
      mode: "fork",
    });
  });
});
