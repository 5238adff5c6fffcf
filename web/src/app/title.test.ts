/** Tests the tab's title. */
import { expect, it } from "vitest";
import { fullTitle } from "./title";

it("names the view, and counts pending approvals", () => {
  expect(fullTitle("", 0)).toBe("Bough");
  expect(fullTitle("", 2)).toBe("(2) Bough");
  expect(fullTitle("Fix the login", 1)).toBe("(1) Fix the login · Bough");
});
