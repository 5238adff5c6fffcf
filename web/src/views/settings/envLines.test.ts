import { describe, expect, it } from "vitest";
import { fromLines, toLines } from "./envLines";

describe("names with values", () => {
  it("are read back unchanged", () => {
    const pairs = { TOKEN: "a=b", EMPTY: "", HIDDEN: "***" };
    expect(fromLines(toLines(pairs))).toEqual(pairs);
  });

  it("keep everything after the first equals sign, including spaces", () => {
    expect(fromLines("A= x =y \n\n")).toEqual({ A: " x =y " });
  });

  it("report a line that is not NAME=value", () => {
    expect(() => fromLines("TOKEN")).toThrow("“TOKEN”");
    expect(() => fromLines("=x")).toThrow();
  });
});
