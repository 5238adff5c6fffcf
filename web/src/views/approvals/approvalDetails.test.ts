import { describe, expect, it } from "vitest";
import type { Approval } from "@/api/types";
import { answersOf, approvalLabels, detailsOf, reasonText } from "./approvalDetails";
import { timeLeft } from "./Countdown";
import { decidedOnThisPage, decisionText } from "./DecidedApproval";

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

describe("the details of an approval", () => {
  it("show an edit as a diff, once", () => {
    const details = detailsOf(
      approval({
        toolCall: {
          content: [{ type: "diff", path: "/w/a.py", oldText: null, newText: "x" }],
          locations: [{ path: "/w/a.py" }],
          rawInput: { path: "/w/a.py", text: "x" },
        },
      }),
    );
    expect(details).toEqual([{ type: "diff", path: "/w/a.py", oldText: null, newText: "x" }]);
  });

  it("show a command, even one in pieces, and its other arguments", () => {
    const [command, facts] = detailsOf(
      approval({
        toolCall: { rawInput: { command: ["git", "push"], cwd: "/w", timeout: 5, description: "" } },
      }),
    );
    expect(command).toEqual({ type: "command", text: "git push", cwd: "/w" });
    expect(facts).toEqual({ type: "facts", facts: [{ name: "timeout", value: "5" }] });
  });

  it("include every argument of an unknown tool", () => {
    expect(detailsOf(approval({ toolCall: { rawInput: { url: "http://x", text: "t" } } }))).toEqual([
      {
        type: "facts",
        facts: [
          { name: "url", value: "http://x" },
          { name: "text", value: "t" },
        ],
      },
    ]);
    expect(detailsOf(approval({ toolCall: {} }))).toEqual([]);
  });

  it("include every argument that no other detail shows", () => {
    const locations = [{ path: "/w/a" }];
    const written = detailsOf(
      approval({ toolCall: { locations, rawInput: { path: "/w/a", content: "rm" } } }),
    );
    expect(written.at(-1)).toEqual({ type: "facts", facts: [{ name: "content", value: "rm" }] });
    const elsewhere = detailsOf(approval({ toolCall: { locations, rawInput: { path: "/etc/a" } } }));
    expect(elsewhere.at(-1)).toEqual({ type: "facts", facts: [{ name: "path", value: "/etc/a" }] });
    const twice = detailsOf(approval({ toolCall: { rawInput: { command: "ls", cmd: "rm" } } }));
    expect(twice.at(-1)).toEqual({ type: "facts", facts: [{ name: "cmd", value: "rm" }] });
  });

  it("name the files of a repository that asks for trust", () => {
    const details = detailsOf(
      approval({ toolKind: "trust", toolCall: { locations: [{ path: "a" }, { path: "a" }, { path: "b" }] } }),
    );
    expect(details).toEqual([{ type: "paths", paths: ["a", "b"] }]);
  });

  it("name the host that a program wants to reach", () => {
    const host = approval({ toolKind: "network", toolCall: { rawInput: { host: "api.example.com" } } });
    expect(detailsOf(host)).toEqual([{ type: "facts", facts: [{ name: "host", value: "api.example.com" }] }]);
    expect(approvalLabels(host).title).toBe("A program of the agent wants to connect to a host");
    expect(answersOf(host).scopes).toEqual(["session", "worktree", "everywhere"]);
  });

  it("call modes by their names", () => {
    expect(reasonText("Mode acceptEdits requires approval before this.")).toBe(
      "“Accept edits” requires approval before this.",
    );
    expect(reasonText("A rule asks.")).toBe("A rule asks.");
  });
});

describe("the answers to an approval", () => {
  it("offer “always” for whatever can be remembered", () => {
    expect(answersOf(approval({})).canAllowAlways).toBe(true);
    expect(answersOf(approval({ toolKind: "switch_mode" })).canAllowAlways).toBe(false);
    expect(answersOf(approval({ toolKind: "limit", key: null })).canAllowAlways).toBe(false);
    expect(answersOf(approval({ toolKind: "call" })).canAllowAlways).toBe(true);
    expect(answersOf(approval({ toolKind: "call", key: null })).canAllowAlways).toBe(false);
  });

  it("give each way to allow its own button", () => {
    const two = answersOf(approval({ options: [ONCE, { ...ONCE, optionId: "b", name: "Other" }, NO] }));
    expect(two.alternatives.map(({ optionId }) => optionId)).toEqual(["yes-once", "b"]);
    expect(two.canAllowAlways).toBe(false);
  });

  it("have their own labels for what Bough asks", () => {
    expect(approvalLabels(approval({ toolKind: "interrupted" })).allow).toBe("Continue");
    expect(approvalLabels(approval({ toolKind: "trust" })).deny).toBe("Discard prompt");
    expect(approvalLabels(approval({ toolKind: "something" }))).toMatchObject({
      allow: "Allow",
      deny: "Deny",
    });
  });

  it("tell who decided", () => {
    const by = (kind: "person" | "policy") => approval({ status: "allowed", decidedBy: { kind, id: null } });
    expect(decisionText(by("person"))).toBe("Allowed by a person");
    expect(decisionText(by("policy"))).toBe("Allowed by policy");
    decidedOnThisPage.add("a1");
    expect(decisionText(by("person"))).toBe("You allowed this");
    decidedOnThisPage.delete("a1");
    expect(decisionText(approval({ status: "cancelled" }))).toBe("Withdrawn");
  });

  it("count down", () => {
    const now = Date.parse("2026-01-01T00:00:00Z");
    expect(timeLeft("2026-01-01T00:01:05Z", now)).toBe("1:05");
    expect(timeLeft("2026-01-01T02:30:00Z", now)).toBe("2 h 30 min");
    expect(timeLeft("2025-12-31T00:00:00Z", now)).toBe("0:00");
  });
});
