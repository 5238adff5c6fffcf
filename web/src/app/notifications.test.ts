import { describe, expect, it } from "vitest";
import { notificationFor } from "./notifications";

const event = (type: string, data: object) => ({
  type,
  sessionId: "s",
  data: { id: "x", sessionId: "s", ...data },
});

describe("notificationFor", () => {
  it("is sent for an approval, unless policy has decided it already", () => {
    const asked = event("approval.created", { status: "pending", title: "Run rm" });
    expect(notificationFor(asked, "needed")).toMatchObject({ body: "Run rm", sessionId: "s" });
    expect(notificationFor(event("approval.created", { status: "allowed" }), "needed")).toBeNull();
    expect(notificationFor(asked, "off")).toBeNull();
  });

  it("is sent for a failed turn; for a finished one only at level `all`, and only if a person prompted it", () => {
    const task = (status: string, source = "user") => event("task.patched", { status, source, prompt: "do" });
    expect(notificationFor(task("failed"), "needed")?.title).toBe("Turn failed");
    expect(notificationFor(task("completed"), "needed")).toBeNull();
    expect(notificationFor(task("completed"), "all")?.title).toBe("Turn finished");
    expect(notificationFor(task("completed", "callback"), "all")).toBeNull();
    expect(notificationFor(task("running"), "all")).toBeNull();
  });
});
