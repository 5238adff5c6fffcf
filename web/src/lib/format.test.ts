import { describe, expect, it } from "vitest";
import { ago, bytes, duration, firstLine, money, plainText, tokens } from "./format";

describe("numbers", () => {
  it("are rounded", () => {
    expect([0, 999, 1234, 12_345, 999_600, 1_250_000].map(tokens)).toEqual([
      "0",
      "999",
      "1.2k",
      "12k",
      "1.0M",
      "1.3M",
    ]);
    expect([money(0), money(0.004), money(1.5), money(250), money(2, "EUR")]).toEqual([
      "$0.00",
      "<$0.01",
      "$1.50",
      "$250",
      "EUR 2.00",
    ]);
    expect([bytes(999), bytes(12_300), bytes(5_200_000)]).toEqual(["999 B", "12 KB", "5.2 MB"]);
    expect([duration(0.2), duration(59), duration(125), duration(3700)]).toEqual([
      "200 ms",
      "59 s",
      "2 min 5 s",
      "1 h 1 min",
    ]);
  });

  it("tell how long ago something was, never in the future", () => {
    const now = Date.parse("2026-03-02T12:00:00Z");
    expect(
      ["2026-03-02T12:00:09Z", "2026-03-02T11:58:00Z", "2026-03-02T09:00:00Z"].map((at) => ago(at, now)),
    ).toEqual(["just now", "2 min ago", "3 h ago"]);
  });

  it("lose the marks of Markdown, but not underscores and stars of names", () => {
    expect(plainText("## All **20** tests in `test_the_limits.py` pass")).toBe(
      "All 20 tests in test_the_limits.py pass",
    );
    expect(plainText("- set BOUGH_DATABASE_URL and __init__.py")).toBe(
      "set BOUGH_DATABASE_URL and __init__.py",
    );
    expect(plainText("*done* and _well_: 2 * 3 * 4, see [the log](x.md)")).toBe(
      "done and well: 2 * 3 * 4, see the log",
    );
  });

  it("shorten a line at the end of a word", () => {
    expect(firstLine("  one\ntwo")).toBe("one");
    expect(firstLine("a".repeat(10).concat(" ", "b".repeat(200)), 20)).toBe(`${"a".repeat(10)}…`);
  });
});
