import { describe, expect, it } from "vitest";
import { readSearchParams, searchRequest, splitAtMarks, toUrlParams } from "./searchParams";

describe("a search in the address", () => {
  it("is read back unchanged, without empty fields", () => {
    const params = { q: "a b", agent: "demo", since: "week" };
    expect(readSearchParams(toUrlParams({ ...params, type: "" }))).toEqual(params);
  });

  it("makes the same request all day long", () => {
    const morning = searchRequest({ q: "x", since: "week" }, Date.parse("2026-03-02T08:00:00Z"));
    expect(morning.since).toBe("2026-02-23T00:00:00.000Z");
    expect(searchRequest({ q: "x", since: "week" }, Date.parse("2026-03-02T20:00:00Z"))).toEqual(morning);
    expect(searchRequest({ q: "x", archived: "no" })).toMatchObject({ archived: false, since: undefined });
  });
});

describe("marks in a snippet", () => {
  it("count code points, not UTF-16 units", () => {
    expect(splitAtMarks("🌳 tree", [[2, 6]])).toEqual([
      { text: "🌳 ", hit: false },
      { text: "tree", hit: true },
    ]);
  });

  it("may be adjacent or missing", () => {
    expect(
      splitAtMarks("ab", [
        [0, 1],
        [1, 2],
      ]).map((part) => part.text),
    ).toEqual(["a", "b"]);
    expect(splitAtMarks("ab", [])).toEqual([{ text: "ab", hit: false }]);
  });
});
