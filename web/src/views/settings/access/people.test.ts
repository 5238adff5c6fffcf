import { describe, expect, it } from "vitest";
import { describeDetails } from "./AuditSettings";
import { signInLink } from "./TokenDialog";

describe("an audit entry", () => {
  it("is described by the names and values of its details", () => {
    expect(describeDetails({ user: "anna", role: "viewer", count: 2 })).toBe(
      "user anna, role viewer, count 2",
    );
    expect(describeDetails({ changed: ["sandbox", "setup"] })).toBe('changed ["sandbox","setup"]');
    expect(describeDetails({})).toBe("");
  });
});

describe("a sign-in link", () => {
  it("holds the token in its query", () => {
    expect(signInLink("bough-user-a_b-c", "https://box.example:4100")).toBe(
      "https://box.example:4100/?token=bough-user-a_b-c",
    );
  });
});
