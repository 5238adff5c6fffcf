import { expect, it } from "vitest";
import { branchName, freeBranch } from "./branchName";

it("names a branch after the telling words of a prompt", () => {
  expect(branchName("Please fix the login test, it’s flaky on CI.\nMore.")).toBe("fix-login-test-flaky-ci");
  expect(branchName("  Größe ändern!  ")).toBe("grosse-andern");
  expect(branchName("to be or not to be")).toBe("not");
  expect(branchName("it is the")).toBe("it-is-the");
  expect(branchName("日本語")).toBe("");
  expect(branchName("x".repeat(90))).toHaveLength(40);
});

it("takes a number if the name is in use", () => {
  expect(freeBranch("fix", new Set(["fix", "fix-2"]))).toBe("fix-3");
  expect(freeBranch("fix", new Set(["other"]))).toBe("fix");
  expect(freeBranch("", new Set([""]))).toBe("");
});
