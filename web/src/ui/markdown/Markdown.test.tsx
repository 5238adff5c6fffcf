/** Tests that Markdown is rendered right, safely, and cheaply while it grows. */
import { cleanup, fireEvent, render } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, describe, expect, it } from "vitest";
import { foldLines } from "../code/foldLines";
import { Markdown } from "./Markdown";
import { NO_BLOCKS, parseBlocks } from "./markdownBlocks";
import { safeUrl } from "./markdownElements";

afterEach(cleanup);

const show = (text: string) =>
  render(
    <Tooltip.Provider>
      <Markdown text={text} />
    </Tooltip.Provider>,
  ).container;

const SAMPLE = `# Title

A paragraph with **bold**, *em*, ~~gone~~, \`code\` and [a link](https://example.org "T").
Second line &amp; more.

- one
- two
  1. nested
  2. list

- [x] done
- [ ] to do

> a quote
> > deeper

| a | b |
|:--|--:|
| 1 | **2** |

\`\`\`ts
const a = "<b>";
\`\`\`

<script>alert(1)</script>

Last [ref] words.

---

1. first

3. third
`;

describe("elements", () => {
  it("renders GitHub-flavored Markdown", () => {
    const page = show(SAMPLE);
    expect(page.querySelector("h2")?.textContent).toBe("Title");
    expect(page.querySelector("strong")?.textContent).toBe("bold");
    expect(page.querySelector("del")?.textContent).toBe("gone");
    expect(page.querySelectorAll("ul ol li").length).toBe(2);
    expect([...page.querySelectorAll("input")].map((box) => box.checked)).toEqual([true, false]);
    expect(page.querySelector("blockquote blockquote")?.textContent).toContain("deeper");
    expect(page.querySelector("td:last-child strong")?.textContent).toBe("2");
    expect(page.querySelector("pre code")?.textContent).toBe('const a = "<b>";');
    expect(page.textContent).toContain("Second line & more.");
    const link = page.querySelector("a")!;
    expect([link.href, link.target, link.rel]).toEqual([
      "https://example.org/",
      "_blank",
      "noopener noreferrer",
    ]);
  });

  it("shows raw HTML as text", () => {
    const page = show('<script>alert(1)</script>\n\nA <img src=x onerror="alert(1)"> <b>b</b> word');
    expect(page.querySelector("script, img, b")).toBeNull();
    expect(page.textContent).toContain("<script>alert(1)</script>");
    expect(page.textContent).toContain('<img src=x onerror="alert(1)">');
  });

  it("follows only web and mail links, and loads no images", () => {
    const page = show(
      "[a](javascript:alert(1)) [b](JaVaScRiPt&colon;alert(1)) [c](data:text/html,x) [d](src/a.ts) [e](mailto:a@b.c) ![f](https://x.org/p.png) [g](vbscript:x) [h](&#106;avascript:alert(1))",
    );
    expect([...page.querySelectorAll("a")].map((link) => link.getAttribute("href"))).toEqual([
      "mailto:a@b.c",
      "https://x.org/p.png",
    ]);
    expect(page.querySelector("img")).toBeNull();
    expect(safeUrl(" \u0001javascript:alert(1)")).toBeNull();
    expect(safeUrl("java\nscript:alert(1)")).toBeNull();
  });

  it("survives any input", () => {
    for (const text of [
      "",
      "`",
      "```",
      "[",
      "|a|\n|-",
      "\u0000",
      "- ",
      "> ",
      "&#xffffff;",
      "<",
      "**",
      "\r\n\r",
    ])
      expect(() => show(text)).not.toThrow();
  });
});

describe("growing", () => {
  const parse = (text: string, previous = NO_BLOCKS) => parseBlocks(text, previous);

  it("ends with the same blocks, however the text arrived", () => {
    const whole = parse(SAMPLE).list.map((block) => [block.start, block.token.raw]);
    for (const step of [1, 3, 7, 50]) {
      let blocks = NO_BLOCKS;
      for (let end = step; end < SAMPLE.length + step; end += step)
        blocks = parse(SAMPLE.slice(0, end), blocks);
      expect(blocks.list.map((block) => [block.start, block.token.raw])).toEqual(whole);
    }
  });

  it("keeps finished blocks", () => {
    const before = parse("one\n\ntwo\n\nthree\n\nfo");
    const after = parse("one\n\ntwo\n\nthree\n\nfour\n\nfive", before);
    expect(after.list[0]).toBe(before.list[0]);
    expect(after.list[1]).toBe(before.list[1]);
    expect(after.list.map((block) => block.token.raw)).toContain("five");
  });

  it("parses everything again when a link reference is defined late or the text is replaced", () => {
    const before = parse("see [ref]\n\na\n\nb\n\nc\n\n");
    const after = parse("see [ref]\n\na\n\nb\n\nc\n\n[ref]: https://x.org\n", before);
    expect(JSON.stringify(after.list[0]?.token)).toContain("https://x.org");
    expect(parse("else", after).list.map((block) => block.token.raw)).toEqual(["else"]);
  });

  it("cuts a very long paragraph at line breaks, and loses nothing", () => {
    const lines = Array.from({ length: 3000 }, (_, n) => `tick ${n}`).join("\n");
    let blocks = NO_BLOCKS;
    for (let end = 500; end < lines.length + 500; end += 500) blocks = parse(lines.slice(0, end), blocks);
    expect(blocks.list.map((block) => block.token.raw).join("")).toBe(lines);
    expect(Math.max(...blocks.list.map((block) => block.token.raw.length))).toBeLessThan(5000);
    expect(show(lines).textContent?.replaceAll(/\s/g, "")).toBe(lines.replaceAll(/\s/g, ""));
  });

  it("parses only the last blocks again, even at 200 KB", () => {
    const text = SAMPLE.repeat(Math.ceil(200_000 / SAMPLE.length));
    let blocks = parse(text.slice(0, 199_000));
    for (let end = 199_010; end <= 200_000; end += 10) {
      const next = parse(text.slice(0, end), blocks);
      const same = next.list.filter((block, index) => block === blocks.list[index]).length;
      expect(same).toBeGreaterThanOrEqual(blocks.list.length - 2);
      blocks = next;
    }
  });
});

describe("very long text", () => {
  it("shows its end, and earlier text on demand", () => {
    const text = Array.from({ length: 1000 }, (_, n) => `Paragraph ${n}.`).join("\n\n");
    const page = show(text);
    expect(page.textContent).toContain("Paragraph 999.");
    expect(page.textContent).not.toContain("Paragraph 10.");
    const more = page.querySelector("button")!;
    fireEvent.click(more);
    expect(page.textContent).toContain("Paragraph 10.");
    expect(page.querySelector("button")).toBeNull();
  });
});

describe("folded code", () => {
  const code = Array.from({ length: 100 }, (_, n) => `line ${n + 1}`).join("\n");
  it("shows the first lines, the last ones while it is written, or all", () => {
    expect(foldLines(code, false, false)).toMatchObject({ lines: 100, folded: true });
    expect(foldLines(code, false, false).text.split("\n").at(-1)).toBe("line 40");
    expect(foldLines(code, false, true).text.split("\n")[0]).toBe("line 61");
    expect(foldLines(code, true, false).text).toBe(code);
    expect(foldLines("a\nb", false, false)).toEqual({ text: "a\nb", lines: 2, folded: false });
  });
});
