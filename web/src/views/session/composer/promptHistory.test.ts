import { describe, expect, it } from "vitest";
import type { Task } from "@/api/types";
import { AT_DRAFT, earlierPrompts, historyDirection, historyStep } from "./promptHistory";

const task = (prompt: string, createdAt: string, source: Task["source"] = "user") =>
  ({ prompt, createdAt, source }) as Task;

describe("earlier prompts", () => {
  it("are those of people, oldest first, without repeats", () => {
    const tasks = [task("b", "2"), task("a", "1", "initial"), task("b", "3"), task("child", "4", "callback")];
    expect(earlierPrompts(tasks)).toEqual(["a", "b"]);
  });

  it("are stepped through, and end at the draft", () => {
    const earlier = ["a", "b"];
    const first = historyStep(earlier, AT_DRAFT, "draft", "older")!;
    expect(first.text).toBe("b");
    const second = historyStep(earlier, first.position, first.text, "older")!;
    expect(second.text).toBe("a");
    expect(historyStep(earlier, second.position, second.text, "older")).toBeNull();
    const third = historyStep(earlier, second.position, second.text, "newer")!;
    expect(third.text).toBe("b");
    expect(historyStep(earlier, third.position, third.text, "newer")).toEqual({
      text: "draft",
      position: AT_DRAFT,
    });
    expect(historyStep(earlier, AT_DRAFT, "draft", "newer")).toBeNull();
  });

  it("are recalled only at the ends of the text", () => {
    const box = (value: string, at: number) => ({ value, selectionStart: at, selectionEnd: at });
    expect(historyDirection("ArrowUp", box("two\nlines", 0), AT_DRAFT)).toBe("older");
    expect(historyDirection("ArrowUp", box("two\nlines", 3), AT_DRAFT)).toBeNull();
    expect(historyDirection("ArrowDown", box("text", 4), AT_DRAFT)).toBeNull();
    expect(historyDirection("ArrowDown", box("text", 4), { index: 0, draft: "" })).toBe("newer");
    expect(historyDirection("ArrowDown", box("text", 2), { index: 0, draft: "" })).toBeNull();
    expect(
      historyDirection("ArrowUp", { value: "text", selectionStart: 0, selectionEnd: 4 }, AT_DRAFT),
    ).toBeNull();
  });
});
