import { expect, test } from "vitest";
import type { Preset, Session } from "@/api/types";
import { draftFromSession, EMPTY_DRAFT, toBranch, toNewSession } from "./draft";
import { additionsOf, beforePreset, draftFromPreset, withPreset } from "./presets";

const preset: Preset = {
  id: "p1",
  name: "reviewer",
  description: "Reads",
  agent: "demo",
  model: "large",
  effort: null,
  permissionMode: "plan",
  mcpServerIds: ["m1"],
  env: { KEY: "***" },
  instructions: "Review.",
  sandbox: null,
  sandboxProfile: "strict",
  createdAt: "",
  updatedAt: "",
};

test("a preset fills in the form of a new session", () => {
  const draft = { ...EMPTY_DRAFT, agent: "terminal", mode: "default" as const, ...draftFromPreset(preset) };
  expect(toNewSession(draft, "r1")).toMatchObject({
    preset: "p1",
    agent: "demo",
    model: "large",
    permissionMode: "plan",
    mcpServerIds: ["m1"],
    sandboxProfile: "strict",
  });
});

test("nothing of an earlier preset stays", () => {
  const empty = { ...EMPTY_DRAFT, agent: "terminal", mode: "default" as const };
  const own = beforePreset(empty);
  const first = { ...empty, ...withPreset(own, { ...preset, sandbox: "off" }) };
  expect(first).toMatchObject({ preset: "p1", mode: "plan", mcpServerIds: ["m1"], sandbox: "off" });
  const plain: Preset = { ...preset, id: "p2", permissionMode: null, mcpServerIds: [], sandboxProfile: null };
  const second = { ...first, ...withPreset(own, plain) };
  expect(second).toMatchObject({
    preset: "p2",
    agent: "demo",
    mode: "default",
    mcpServerIds: null,
    sandbox: null,
  });
  expect({ ...second, ...withPreset(own, undefined) }).toEqual(empty);
});

test("a branch with a preset sends agent and mode, which count before the preset's", () => {
  const session = { agent: "demo", permissionMode: "default", model: null, effort: null } as Session;
  const draft = { ...draftFromSession(session), ...draftFromPreset(preset), mode: "default" as const };
  expect(toBranch(draft, session, "spawn")).toMatchObject({
    preset: "p1",
    agent: "demo",
    permissionMode: "default",
  });
});

test("what the form does not show is described", () => {
  expect(additionsOf(preset)).toBe("Adds its instructions and the variables KEY.");
  expect(additionsOf({ ...preset, env: {}, instructions: "" })).toBe("Reads");
});
