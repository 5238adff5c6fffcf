import { describe, expect, it } from "vitest";
import type { Task } from "@/api/types";
import { asBase64, asText, attachFiles, LARGEST_FILE, MOST_FILES, toPromptFiles } from "./attachments";
import { commandsOf, completed, matching, slashWord } from "./commands/slashCommands";
import { earlierPrompts, step, WRITING, wantsHistory } from "./promptHistory";

const task = (prompt: string, createdAt: string, source: Task["source"] = "user") =>
  ({ prompt, createdAt, source }) as Task;

describe("earlier prompts", () => {
  it("are those of people, oldest first, without repetitions", () => {
    const tasks = [task("b", "2"), task("a", "1", "initial"), task("b", "3"), task("child", "4", "callback")];
    expect(earlierPrompts(tasks)).toEqual(["a", "b"]);
  });

  it("are walked through, and end at what was being written", () => {
    const earlier = ["a", "b"];
    const one = step(earlier, WRITING, "draft", "older")!;
    expect(one.text).toBe("b");
    const two = step(earlier, one.browsing, one.text, "older")!;
    expect(two.text).toBe("a");
    expect(step(earlier, two.browsing, two.text, "older")).toBeNull();
    const three = step(earlier, two.browsing, two.text, "newer")!;
    expect(three.text).toBe("b");
    expect(step(earlier, three.browsing, three.text, "newer")).toEqual({ text: "draft", browsing: WRITING });
    expect(step(earlier, WRITING, "draft", "newer")).toBeNull();
  });

  it("are asked for only at the ends of the text", () => {
    const box = (value: string, at: number) => ({ value, selectionStart: at, selectionEnd: at });
    expect(wantsHistory("ArrowUp", box("two\nlines", 0), WRITING)).toBe("older");
    expect(wantsHistory("ArrowUp", box("two\nlines", 3), WRITING)).toBeNull();
    expect(wantsHistory("ArrowDown", box("text", 4), WRITING)).toBeNull();
    expect(wantsHistory("ArrowDown", box("text", 4), { at: 0, draft: "" })).toBe("newer");
    expect(wantsHistory("ArrowDown", box("text", 2), { at: 0, draft: "" })).toBeNull();
    expect(
      wantsHistory("ArrowUp", { value: "text", selectionStart: 0, selectionEnd: 4 }, WRITING),
    ).toBeNull();
  });
});

describe("slash commands", () => {
  const commands = commandsOf({
    metadata: {
      commands: [
        { name: "help", description: "List what it follows" },
        { name: "/status", description: "Tell mode and model", input: { hint: "what" } },
        { name: "recall", description: "Every text" },
        { description: "nameless" },
      ],
    },
  });

  it("are read from what the agent said", () => {
    expect(commands.map((one) => one.name)).toEqual(["help", "status", "recall"]);
    expect(commands[1]?.hint).toBe("what");
    expect(commandsOf({ metadata: {} })).toEqual([]);
  });

  it("are offered while the name is typed, and no longer", () => {
    expect(slashWord("/", 1)).toBe("");
    expect(slashWord("/he", 3)).toBe("he");
    expect(slashWord("/he", 2)).toBeNull();
    expect(slashWord("/help me", 8)).toBeNull();
    expect(slashWord("see /he", 7)).toBeNull();
  });

  it("are filtered: beginnings first, then middles, then descriptions", () => {
    expect(matching(commands, "").length).toBe(3);
    expect(matching(commands, "re").map((one) => one.name)).toEqual(["recall"]);
    expect(matching(commands, "al").map((one) => one.name)).toEqual(["recall"]);
    expect(matching(commands, "MODE").map((one) => one.name)).toEqual(["status"]);
    expect(matching(commands, "zzz")).toEqual([]);
  });

  it("are completed in front of what follows", () => {
    expect(completed(commands[0]!, "/he", 3)).toBe("/help ");
    expect(completed(commands[0]!, "/he now", 3)).toBe("/help now");
  });
});

describe("files", () => {
  it("are text when their bytes are", () => {
    expect(asText(new TextEncoder().encode("größe"))).toBe("größe");
    expect(asText(new Uint8Array([1, 0, 2]))).toBeNull();
    expect(asText(new Uint8Array([0xff, 0xfe, 0x41]))).toBeNull();
  });

  it("are base64 when they are pictures, however large", () => {
    const data = new Uint8Array(100_000).fill(65);
    expect(atob(asBase64(data)).length).toBe(100_000);
  });

  it("are taken within the limits, and refused in words beyond", async () => {
    const text = new File(["hello"], "a.txt", { type: "text/plain" });
    const picture = new File([new Uint8Array([137, 80, 0])], "b.png", { type: "image/png" });
    const binary = new File([new Uint8Array([0, 1])], "c.bin");
    const { files, refused } = await attachFiles([], [text, picture, binary]);
    expect(toPromptFiles(files)).toEqual([
      { name: "a.txt", mimeType: "text/plain", text: "hello" },
      { name: "b.png", mimeType: "image/png", data: "iVAA" },
    ]);
    expect(refused).toHaveLength(1);
    expect(refused[0]).toContain("c.bin");
    const large = new File([new Uint8Array(LARGEST_FILE + 1)], "d.txt");
    expect((await attachFiles([], [large])).refused[0]).toContain("d.txt");
    const many = await attachFiles(
      [],
      Array.from({ length: MOST_FILES + 2 }, () => text),
    );
    expect(many.files).toHaveLength(MOST_FILES);
    expect(many.refused).toEqual([`A prompt takes ${MOST_FILES} files at most.`]);
  });
});
