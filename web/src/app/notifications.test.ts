import { describe, expect, it } from "vitest";
import { notificationFor } from "./notifications";

const event = (type: string, data: object) => ({
  type,
  sessionId: "s",
  data: { id: "x", sessionId: "s", ...data },
});

describe("notificationFor", () => {
  it("is a question, unless policy has answered it already", () => {
    const asked = event("approval.created", { status: "pending", title: "Run rm" });
    expect(notificationFor(asked, "needed")).toMatchObject({ body: "Run rm", sessionId: "s" });
    expect(notificationFor(event("approval.created", { status: "allowed" }), "needed")).toBeNull();
    expect(notificationFor(asked, "off")).toBeNull();
  });

  it("is a failed turn; a finished one only for those who want all, and only if a person asked for it", () => {
    const task = (status: string, source = "user") => event("task.patched", { status, source, prompt: "do" });
    expect(notificationFor(task("failed"), "needed")?.title).toBe("Turn failed");
    expect(notificationFor(task("completed"), "needed")).toBeNull();
    expect(notificationFor(task("completed"), "all")?.title).toBe("Turn finished");
    expect(notificationFor(task("completed", "callback"), "all")).toBeNull();
    expect(notificationFor(task("running"), "all")).toBeNull();
  });
});
