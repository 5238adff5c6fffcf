import { describe, expect, it } from "vitest";
import { completeMention, mentionWord } from "./fileMentions";

describe("mentioned files", () => {
  it("are offered while a name is typed after an @", () => {
    expect(mentionWord("@", 1)).toBe("");
    expect(mentionWord("Fix @src/ma", 11)).toBe("src/ma");
    expect(mentionWord("Fix (@a", 7)).toBe("a");
    expect(mentionWord("Fix @src/ma now", 11)).toBe("src/ma");
  });

  it("are not offered in addresses, after the name, or inside a word", () => {
    expect(mentionWord("me@example.org", 14)).toBeNull();
    expect(mentionWord("@a b", 4)).toBeNull();
    expect(mentionWord("Fix @src", 6)).toBeNull();
    expect(mentionWord("plain", 5)).toBeNull();
  });

  it("are completed in place, with one space behind", () => {
    expect(completeMention("src/main.ts", "Fix @ma", 7)).toEqual({ text: "Fix @src/main.ts ", caret: 17 });
    expect(completeMention("a.txt", "See @a and go", 6)).toEqual({ text: "See @a.txt and go", caret: 11 });
  });
});
