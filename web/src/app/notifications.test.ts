import { describe, expect, it } from "vitest";
import { noticeOf } from "./notifications";

const event = (type: string, data: object) => ({
  type,
  sessionId: "s",
  data: { id: "x", sessionId: "s", ...data },
});

describe("what is worth a notice", () => {
  it("is a question, unless policy has answered it already", () => {
    const asked = event("approval.created", { status: "pending", title: "Run rm" });
    expect(noticeOf(asked, "needed")).toMatchObject({ body: "Run rm", sessionId: "s" });
    expect(noticeOf(event("approval.created", { status: "allowed" }), "needed")).toBeNull();
    expect(noticeOf(asked, "off")).toBeNull();
  });

  it("is a failed turn; a finished one only for those who want all, and only if a person asked for it", () => {
    const task = (status: string, source = "user") => event("task.patched", { status, source, prompt: "do" });
    expect(noticeOf(task("failed"), "needed")?.title).toBe("A turn failed");
    expect(noticeOf(task("completed"), "needed")).toBeNull();
    expect(noticeOf(task("completed"), "all")?.title).toBe("A turn is finished");
    expect(noticeOf(task("completed", "callback"), "all")).toBeNull();
    expect(noticeOf(task("running"), "all")).toBeNull();
  });
});
