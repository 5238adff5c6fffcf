/** The state of forms: agents, modes, worktree previews, and the fields of errors. */
import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/client";
import type { Agent } from "@/api/types";
import { errorField } from "@/views/forms/layout/errorFields";
import { optionsOfAgent } from "./agentOptions";
import { pickAgent, sortedByReadiness } from "./agentReadiness";
import { grantsMore, offeredModes } from "./offeredModes";
import { describePreview, type Preview } from "./worktreePreview";

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
  it("are sorted by readiness, without missing ones", () =>
    expect(sortedByReadiness(agents).map((item) => item.name)).toEqual(["first", "plain", "locked"]));
  it("start with the preferred one if it is ready", () => {
    expect(pickAgent(agents, "plain")).toBe("plain");
    expect(pickAgent(agents, "gone")).toBe("first");
    expect(pickAgent([], "plain")).toBeNull();
  });
});

describe("offeredModes", () => {
  it("offers every mode once, without aliases", () =>
    expect(offeredModes(undefined).map((offered) => offered.mode)).toEqual([
      "plan",
      "default",
      "acceptEdits",
      "auto",
      "on-failure",
      "bypassPermissions",
    ]));
  it("knows which modes grant more than another", () => {
    const more = offeredModes(undefined).filter(({ mode }) => grantsMore(mode, "acceptEdits"));
    expect(more.map((offered) => offered.mode)).toEqual(["auto", "on-failure", "bypassPermissions"]);
    expect(more.every((offered) => offered.refused === null)).toBe(true);
  });
  it("shows the agent's note on a mode, and refuses modes it does not support", () => {
    const modes = { plan: { mode: "plan", start: "", note: "Reads only." } } as unknown as Agent["modes"];
    const offered = offeredModes(agent("a", { modes }));
    expect(offered[0]).toMatchObject({ note: "Reads only.", refused: null });
    expect(offered[1]?.refused).toContain("does not support");
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
  const item = (entry: Preview | undefined, branching = false, branch = "x") =>
    describePreview(branch, { waiting: false, preview: entry, error: null }, branching);
  it("says whether a branch is created or reused", () => {
    expect(item(preview()).lines.map((previewLine) => previewLine.text)).toEqual([
      "/w/.worktrees/x",
      "Creates a new branch.",
    ]);
    expect(item(preview({ branchExists: true })).lines[1]?.text).toBe("The branch exists and is reused.");
  });
  it("shows a problem and a suggestion", () => {
    const previewText = item(preview({ problem: "It is in use.", suggestion: "x-2" }));
    expect(previewText.lines[1]).toEqual({ text: "It is in use.", tone: "bad" });
    expect(previewText.suggestion).toBe("x-2");
  });
  it("lets Bough name a fork's branch", () =>
    expect(item(undefined, true, "  ").lines[0]?.text).toContain("after the title"));
});

describe("fieldOf", () => {
  const refusal = (code: string, message = "") => new ApiError(code, message, 409);
  it("finds the field of an error", () => {
    expect(errorField(refusal("branch_in_use"))).toBe("directory");
    expect(errorField(refusal("bad_choice", "effort has between"))).toBe("effort");
    expect(errorField(refusal("too_many_sessions"))).toBe("form");
    expect(errorField(new Error("x"))).toBe("form");
  });
  it("falls back to the form if it has no such field", () =>
    expect(errorField(refusal("branch_in_use"), ["prompt"])).toBe("form"));
});

it("reads models from an agent's sessions, also in groups", () => {
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
  expect(optionsOfAgent("demo", sessions)).toEqual({ models: ["big[1m]", "small"], efforts: ["high"] });
  expect(optionsOfAgent("none", sessions)).toEqual({ models: [], efforts: [] });
});
