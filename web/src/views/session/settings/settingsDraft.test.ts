import { describe, expect, it } from "vitest";
import type { Session } from "@/api/types";
import { MASKED_VALUE } from "@/views/forms/fields/EnvEditor";
import { draftOf, patchOf } from "./settingsDraft";

const session = (change: Partial<Session> = {}): Session =>
  ({
    id: "s1",
    status: "active",
    activity: "idle",
    title: "One",
    description: "",
    model: null,
    effort: null,
    permissionMode: "default",
    mcpServerIds: ["b", "a"],
    env: { KEY: MASKED_VALUE },
    contextFiles: ["README.md"],
    callback: { enabled: true },
    headless: null,
    approvalTimeout: null,
    sandbox: null,
    sandboxProfile: null,
    queuePaused: false,
    archived: false,
    metadata: {},
    ...change,
  }) as Session;

describe("settings", () => {
  it("saves nothing if nothing changed", () => {
    expect(patchOf(session(), draftOf(session()))).toEqual({});
  });

  it("saves only the changes", () => {
    const draft = { ...draftOf(session()), title: " Two ", model: "opus[1m]", headless: "deny" as const };
    expect(patchOf(session(), draft)).toEqual({ title: "Two", model: "opus[1m]", headless: "deny" });
  });

  it("saves the minutes that approvals wait, and returns to the server's", () => {
    const own = session({ approvalTimeout: 5 });
    expect(draftOf(own).approvalTimeout).toBe("5");
    expect(patchOf(session(), { ...draftOf(session()), approvalTimeout: "2.5" })).toEqual({
      approvalTimeout: 2.5,
    });
    expect(patchOf(own, { ...draftOf(own), approvalTimeout: "" })).toEqual({ approvalTimeout: null });
  });

  it("saves what a limit does", () => {
    const draft = { ...draftOf(session()), resumeAfterLimit: false };
    expect(patchOf(session(), draft)).toEqual({ resumeAfterLimit: false });
  });

  it("saves the profile of the sandbox", () => {
    const draft = { ...draftOf(session()), sandboxProfile: "strict" as const };
    expect(patchOf(session(), draft)).toEqual({ sandboxProfile: "strict" });
    expect(patchOf(session({ sandboxProfile: "strict" }), draftOf(session()))).toEqual({
      sandboxProfile: null,
    });
  });

  it("keeps masked values, and sends the whole environment when a variable is added or removed", () => {
    const draft = draftOf(session());
    const more = { ...draft, env: [...draft.env, { id: "x", name: "NEW", value: "v" }] };
    expect(patchOf(session(), more)).toEqual({ env: { KEY: MASKED_VALUE, NEW: "v" } });
    expect(patchOf(session(), { ...draft, env: [] })).toEqual({ env: {} });
    expect(patchOf(session(), { ...draft, env: [...draft.env, { id: "x", name: " ", value: "" }] })).toEqual(
      {},
    );
  });

  it("ignores the order of servers, but not of context files", () => {
    const draft = draftOf(session({ contextFiles: ["a", "b"] }));
    expect(patchOf(session({ contextFiles: ["a", "b"] }), { ...draft, mcpServerIds: ["a", "b"] })).toEqual(
      {},
    );
    expect(patchOf(session({ contextFiles: ["a", "b"] }), { ...draft, contextFiles: "b\na\n" })).toEqual({
      contextFiles: ["b", "a"],
    });
  });
});
