import { describe, expect, it } from "vitest";
import { contentOf, hintOf, initialEntries, type QuestionField } from "./questionForm";

const fields: QuestionField[] = [
  { name: "name", type: "text", required: true },
  { name: "port", type: "integer", default: 8080, minimum: 1024 },
  { name: "public", type: "boolean" },
  { name: "region", type: "choice", choices: [{ value: "eu", title: "Europe" }] },
  { name: "tags", type: "choices", choices: [{ value: "a", title: "a" }], maxItems: 2 },
];

describe("the form of a question", () => {
  it("starts with the agent's defaults", () => {
    expect(initialEntries(fields)).toEqual({ name: "", port: "8080", public: false, region: "", tags: [] });
  });

  it("sends typed values and leaves out what is empty", () => {
    const entries = { ...initialEntries(fields), name: "web", tags: ["a"] };
    expect(contentOf(fields, entries)).toEqual({ name: "web", port: 8080, public: false, tags: ["a"] });
  });

  it("leaves a text that is no number to the server", () => {
    expect(contentOf(fields, { port: "many" })).toEqual({ port: "many" });
  });

  it("describes limits", () => {
    expect(hintOf({ name: "port", type: "integer", minimum: 1, maximum: 9 })).toBe("1 to 9 · Optional");
    expect(hintOf({ name: "tags", type: "choices", maxItems: 2, required: true })).toBe("At most 2 choices");
  });
});
