/** What forms offer: agents, modes, previews; and which field a refusal belongs to. */
import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/client";
import type { Agent } from "@/api/types";
import { fieldOf } from "@/views/forms/layout/errorFields";
import { offeredFor } from "./agentOptions";
import { inOrder, pickAgent } from "./agentReadiness";
import { offeredModes } from "./offeredModes";
import { type Preview, previewWords } from "./worktreePreview";

const agent = (name: string, more: Partial<Agent> = {}): Agent =>
  ({
    name,
    title: name,
    how: "installed",
    login: { found: null, how: "" },
    modes: {},
    isDefault: false,
    ...more,
  }) as Agent;

describe("agents", () => {
  const agents = [
    agent("locked", { login: { found: false, how: "Log in." } }),
    agent("gone", { how: "missing" }),
    agent("plain"),
    agent("first", { isDefault: true }),
  ];
  it("come with those first that answer at once, and without those that are missing", () =>
    expect(inOrder(agents).map((one) => one.name)).toEqual(["first", "plain", "locked"]));
  it("begin with the one wished for, if it can be used", () => {
    expect(pickAgent(agents, "plain")).toBe("plain");
    expect(pickAgent(agents, "gone")).toBe("first");
    expect(pickAgent([], "plain")).toBeNull();
  });
});

describe("offeredModes", () => {
  const names = (...args: Parameters<typeof offeredModes>) => offeredModes(...args).map((one) => one.mode);
  it("shows synonyms once, under the name that is set", () => {
    expect(names("acceptEdits", undefined)).toEqual([
      "plan",
      "default",
      "acceptEdits",
      "auto",
      "on-failure",
      "bypassPermissions",
    ]);
    expect(names("ask", undefined)).toContain("ask");
    expect(names("ask", undefined)).not.toContain("default");
  });
  it("refuses what is above the parent", () => {
    const refused = offeredModes("default", undefined, "acceptEdits").filter((one) => one.refused);
    expect(refused.map((one) => one.mode)).toEqual(["auto", "on-failure", "bypassPermissions"]);
  });
  it("tells what the agent makes of a mode, and which it does not have", () => {
    const modes = { plan: { mode: "plan", start: "", note: "Reads only." } } as unknown as Agent["modes"];
    const found = offeredModes("plan", agent("a", { modes }));
    expect(found[0]).toMatchObject({ note: "Reads only.", refused: null });
    expect(found[1]?.refused).toContain("nothing like it");
  });
});

describe("previewWords", () => {
  const preview = (more: Partial<Preview> = {}): Preview => ({
    path: "/w/.worktrees/x",
    branch: "x",
    branchExists: false,
    pathExists: false,
    problem: null,
    code: null,
    suggestion: null,
    ...more,
  });
  const told = (found: Preview | undefined, branching = false, branch = "x") =>
    previewWords(branch, { waiting: false, preview: found, error: null }, branching);
  it("says that a branch is made, or reused", () => {
    expect(told(preview()).lines.map((one) => one.text)).toEqual([
      "/w/.worktrees/x",
      "A new branch is made.",
    ]);
    expect(told(preview({ branchExists: true })).lines[1]?.text).toBe("The branch exists: it is reused.");
  });
  it("says what stands in the way, and what would do", () => {
    const found = told(preview({ problem: "It is in use.", suggestion: "x-2" }));
    expect(found.lines[1]).toEqual({ text: "It is in use.", tone: "bad" });
    expect(found.suggestion).toBe("x-2");
  });
  it("leaves the name of a fork's branch to Bough", () =>
    expect(told(undefined, true, "  ").lines[0]?.text).toContain("after the title"));
});

describe("fieldOf", () => {
  const refusal = (code: string, message = "") => new ApiError(code, message, 409);
  it("finds the field of a refusal", () => {
    expect(fieldOf(refusal("branch_in_use"))).toBe("place");
    expect(fieldOf(refusal("bad_choice", "effort has between"))).toBe("effort");
    expect(fieldOf(refusal("too_many_sessions"))).toBe("form");
    expect(fieldOf(new Error("x"))).toBe("form");
  });
  it("says it for the whole form if that has no such field", () =>
    expect(fieldOf(refusal("branch_in_use"), ["prompt"])).toBe("form"));
});

it("knows models by what an agent's sessions tell, also in groups", () => {
  const metadata = {
    configOptions: [
      {
        id: "model",
        category: "model",
        options: [{ group: "g", options: [{ value: "big[1m]" }] }, { value: "small" }],
      },
      { id: "effort", category: "thought_level", options: [{ value: "high" }] },
    ],
  };
  const sessions = [
    { agent: "other", metadata },
    { agent: "demo", metadata: {} },
    { agent: "demo", metadata },
  ];
  expect(offeredFor("demo", sessions)).toEqual({ models: ["big[1m]", "small"], efforts: ["high"] });
  expect(offeredFor("none", sessions)).toEqual({ models: [], efforts: [] });
});
