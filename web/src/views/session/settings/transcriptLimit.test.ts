import { expect, it } from "vitest";
import { limitText, mebibytes, parseLimit } from "./transcriptLimit";

const MIB = 1024 * 1024;

it("parses limits in MiB and rejects anything that is not a size", () => {
  expect(parseLimit("")).toBeNull();
  expect(parseLimit(" 512 ")).toBe(512 * MIB);
  expect(parseLimit("0,5")).toBe(MIB / 2);
  expect(["0", "-1", "much"].map(parseLimit)).toEqual([undefined, undefined, undefined]);
});

it("shows sizes and limits", () => {
  expect([limitText(null), limitText(512 * MIB)]).toEqual(["", "512"]);
  const shown = [0, 1000, 1.5 * MIB, 256 * MIB].map(mebibytes);
  expect(shown).toEqual(["0.0 MiB", "<0.1 MiB", "1.5 MiB", "256 MiB"]);
});
