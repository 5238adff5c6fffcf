import { describe, expect, it } from "vitest";
import { commandsOf, completeCommand, matchingCommands, slashWord } from "./slashCommands";

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

  it("are read from the session", () => {
    expect(commands.map(({ name }) => name)).toEqual(["help", "status", "recall"]);
    expect(commands[1]?.hint).toBe("what");
    expect(commandsOf({ metadata: {} })).toEqual([]);
  });

  it("are offered only while the name is typed", () => {
    expect(slashWord("/", 1)).toBe("");
    expect(slashWord("/he", 3)).toBe("he");
    expect(slashWord("/he", 2)).toBeNull();
    expect(slashWord("/help me", 8)).toBeNull();
    expect(slashWord("see /he", 7)).toBeNull();
  });

  it("are ranked: prefixes first, then substrings, then descriptions", () => {
    expect(matchingCommands(commands, "").length).toBe(3);
    expect(matchingCommands(commands, "re").map(({ name }) => name)).toEqual(["recall"]);
    expect(matchingCommands(commands, "al").map(({ name }) => name)).toEqual(["recall"]);
    expect(matchingCommands(commands, "MODE").map(({ name }) => name)).toEqual(["status"]);
    expect(matchingCommands(commands, "zzz")).toEqual([]);
  });

  it("are completed before the text that follows", () => {
    expect(completeCommand(commands[0]!, "/he", 3)).toBe("/help ");
    expect(completeCommand(commands[0]!, "/he now", 3)).toBe("/help now");
  });
});
