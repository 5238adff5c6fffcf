import { describe, expect, it } from "vitest";
import { marked, query, read, write } from "./searchParams";

describe("a search in the address", () => {
  it("is read back unchanged, without empty fields", () => {
    const params = { q: "a b", agent: "demo", since: "week" };
    expect(read(write({ ...params, type: "" }))).toEqual(params);
  });

  it("makes the same request all day long", () => {
    const morning = query({ q: "x", since: "week" }, Date.parse("2026-03-02T08:00:00Z"));
    expect(morning.since).toBe("2026-02-23T00:00:00.000Z");
    expect(query({ q: "x", since: "week" }, Date.parse("2026-03-02T20:00:00Z"))).toEqual(morning);
    expect(query({ q: "x", archived: "no" })).toMatchObject({ archived: false, since: undefined });
  });
});

describe("marks in a snippet", () => {
  it("count code points, not UTF-16 units", () => {
    expect(marked("🌳 tree", [[2, 6]])).toEqual([
      { text: "🌳 ", hit: false },
      { text: "tree", hit: true },
    ]);
  });

  it("may be adjacent or missing", () => {
    expect(
      marked("ab", [
        [0, 1],
        [1, 2],
      ]).map((part) => part.text),
    ).toEqual(["a", "b"]);
    expect(marked("ab", [])).toEqual([{ text: "ab", hit: false }]);
  });
});
