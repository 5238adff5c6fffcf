import { expect, it } from "vitest";
import { relativeTo } from "./paths";

it("shortens paths inside the folder only", () => {
  expect(relativeTo("Write /w/x/a.py", "/w/x")).toBe("Write a.py");
  expect(relativeTo("Write /w/xy/a.py", "/w/x")).toBe("Write /w/xy/a.py");
  expect(relativeTo("/tmp/w/x/a.py /w/x/b.py", "/w/x")).toBe("/tmp/w/x/a.py b.py");
  expect(relativeTo("/w/x/a.py")).toBe("/w/x/a.py");
});
