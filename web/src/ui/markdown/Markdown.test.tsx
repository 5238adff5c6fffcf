/** Keeps Markdown right, safe, and cheap while it grows. */
import { cleanup, fireEvent, render } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, describe, expect, it } from "vitest";
import { part } from "../code/foldLines";
import { Markdown } from "./Markdown";
import { blocks, none } from "./markdownBlocks";
import { safe } from "./markdownElements";

afterEach(cleanup);

const shown = (text: string) =>
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
  it("draws what GitHub's Markdown has", () => {
    const page = shown(SAMPLE);
    expect(page.querySelector("h2")?.textContent).toBe("Title");
    expect(page.querySelector("strong")?.textContent).toBe("bold");
    expect(page.querySelector("del")?.textContent).toBe("gone");
    expect(page.querySelectorAll("ul ol li").length).toBe(2);
    expect([...page.querySelectorAll("input")].map((one) => one.checked)).toEqual([true, false]);
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
    const page = shown('<script>alert(1)</script>\n\nA <img src=x onerror="alert(1)"> <b>b</b> word');
    expect(page.querySelector("script, img, b")).toBeNull();
    expect(page.textContent).toContain("<script>alert(1)</script>");
    expect(page.textContent).toContain('<img src=x onerror="alert(1)">');
  });

  it("follows only links to the web and to mailboxes, and loads no image", () => {
    const page = shown(
      "[a](javascript:alert(1)) [b](JaVaScRiPt&colon;alert(1)) [c](data:text/html,x) [d](src/a.ts) [e](mailto:a@b.c) ![f](https://x.org/p.png) [g](vbscript:x) [h](&#106;avascript:alert(1))",
    );
    expect([...page.querySelectorAll("a")].map((one) => one.getAttribute("href"))).toEqual([
      "mailto:a@b.c",
      "https://x.org/p.png",
    ]);
    expect(page.querySelector("img")).toBeNull();
    expect(safe(" \u0001javascript:alert(1)")).toBeNull();
    expect(safe("java\nscript:alert(1)")).toBeNull();
  });

  it("survives anything", () => {
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
      expect(() => shown(text)).not.toThrow();
  });
});

describe("growing", () => {
  const tokens = (text: string, known = none) => blocks(text, known);

  it("ends as the same blocks, however the text came", () => {
    const whole = tokens(SAMPLE).list.map((one) => [one.start, one.token.raw]);
    for (const step of [1, 3, 7, 50]) {
      let known = none;
      for (let end = step; end < SAMPLE.length + step; end += step)
        known = tokens(SAMPLE.slice(0, end), known);
      expect(known.list.map((one) => [one.start, one.token.raw])).toEqual(whole);
    }
  });

  it("keeps the blocks that are over as they are", () => {
    const before = tokens("one\n\ntwo\n\nthree\n\nfo");
    const after = tokens("one\n\ntwo\n\nthree\n\nfour\n\nfive", before);
    expect(after.list[0]).toBe(before.list[0]);
    expect(after.list[1]).toBe(before.list[1]);
    expect(after.list.map((one) => one.token.raw)).toContain("five");
  });

  it("reads everything again when a reference is defined late, or the text is another", () => {
    const before = tokens("see [ref]\n\na\n\nb\n\nc\n\n");
    const after = tokens("see [ref]\n\na\n\nb\n\nc\n\n[ref]: https://x.org\n", before);
    expect(JSON.stringify(after.list[0]?.token)).toContain("https://x.org");
    expect(tokens("else", after).list.map((one) => one.token.raw)).toEqual(["else"]);
  });

  it("cuts a paragraph without end at its lines, and loses nothing", () => {
    const lines = Array.from({ length: 3000 }, (_, n) => `tick ${n}`).join("\n");
    let known = none;
    for (let end = 500; end < lines.length + 500; end += 500) known = tokens(lines.slice(0, end), known);
    expect(known.list.map((one) => one.token.raw).join("")).toBe(lines);
    expect(Math.max(...known.list.map((one) => one.token.raw.length))).toBeLessThan(5000);
    expect(shown(lines).textContent?.replaceAll(/\s/g, "")).toBe(lines.replaceAll(/\s/g, ""));
  });

  it("reads only the last blocks again, also at 200 KB", () => {
    const text = SAMPLE.repeat(Math.ceil(200_000 / SAMPLE.length));
    let known = tokens(text.slice(0, 199_000));
    for (let end = 199_010; end <= 200_000; end += 10) {
      const next = tokens(text.slice(0, end), known);
      const same = next.list.filter((one, at) => one === known.list[at]).length;
      expect(same).toBeGreaterThanOrEqual(known.list.length - 2);
      known = next;
    }
  });
});

describe("very long text", () => {
  it("shows its end, and the rest when it is asked for", () => {
    const text = Array.from({ length: 1000 }, (_, n) => `Paragraph ${n}.`).join("\n\n");
    const page = shown(text);
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
  it("shows the first lines, the last while it is written, or all", () => {
    expect(part(code, false, false)).toMatchObject({ lines: 100, folded: true });
    expect(part(code, false, false).text.split("\n").at(-1)).toBe("line 40");
    expect(part(code, false, true).text.split("\n")[0]).toBe("line 61");
    expect(part(code, true, false).text).toBe(code);
    expect(part("a\nb", false, false)).toEqual({ text: "a\nb", lines: 2, folded: false });
  });
});
