import { describe, expect, it } from "vitest";
import { fromLines, toLines } from "./envLines";

describe("names with values", () => {
  it("come back as they went", () => {
    const pairs = { TOKEN: "a=b", EMPTY: "", HIDDEN: "***" };
    expect(fromLines(toLines(pairs))).toEqual(pairs);
  });

  it("keep what stands behind the first equals sign, blanks and all", () => {
    expect(fromLines("A= x =y \n\n")).toEqual({ A: " x =y " });
  });

  it("name the line that is none", () => {
    expect(() => fromLines("TOKEN")).toThrow("“TOKEN”");
    expect(() => fromLines("=x")).toThrow();
  });
});
