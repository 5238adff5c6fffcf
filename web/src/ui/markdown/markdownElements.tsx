/** Tokens of Markdown as React elements. Nothing of a text ever becomes markup: raw HTML is shown as the text that it is,
 * and a link leads to the web or to a mailbox or is none. */
import type { MarkedToken, Token, Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";
import { Code } from "../code/Code";
import css from "./Markdown.module.css";

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Character references, as HTML would have resolved them. */
export const plain = (text: string): string =>
  text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]+);/gi, (found, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? found;
    const code = name[1]?.toLowerCase() === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : found;
  });

/** An address that is safe to follow, or nothing. */
export function safe(href: string): string | null {
  try {
    const url = new URL(plain(href).trim());
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function Anchor({ href, title, children }: { href: string; title?: string | null; children: ReactNode }) {
  const to = safe(href);
  // A path or something stranger: its words, and what it names.
  if (!to) return <span title={plain(href)}>{children}</span>;
  return (
    <a href={to} title={title ? plain(title) : undefined} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

const inside = (tokens: Token[] | undefined, growing = false): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: tokens of one text never change their places
  tokens?.map((token, at) => <Fragment key={at}>{element(token, growing)}</Fragment>);

const Item = memo(
  function Item({ item }: { item: Tokens.ListItem }) {
    return <li className={item.task ? css.task : undefined}>{inside(item.tokens)}</li>;
  },
  (before, after) => before.item.raw === after.item.raw && before.item.loose === after.item.loose,
);

function list(token: Tokens.List): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: items of one list never change their places
  const items = token.items.map((item, at) => <Item key={at} item={item} />);
  if (token.ordered) return <ol start={token.start === "" ? undefined : token.start}>{items}</ol>;
  return <ul>{items}</ul>;
}

function table(token: Tokens.Table): ReactNode {
  const cells = (row: Tokens.TableCell[], Cell: "th" | "td") =>
    row.map((cell, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: cells never change their places
      <Cell key={at} style={cell.align ? { textAlign: cell.align } : undefined}>
        {inside(cell.tokens)}
      </Cell>
    ));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={css.scroll} tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>{cells(token.header, "th")}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never change their places
            <tr key={at}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** A heading of a message stands right below that of the page, whatever its own depth, so that no level is left out. */
const heading = (token: Tokens.Heading): ReactNode => (
  <h2 className={css.heading} data-depth={token.depth}>
    {inside(token.tokens)}
  </h2>
);

export function element(given: Token, growing = false): ReactNode {
  const token = given as MarkedToken;
  switch (token.type) {
    case "paragraph":
      return <p>{inside(token.tokens)}</p>;
    case "heading":
      return heading(token);
    case "code":
      return <Code text={token.text} language={token.lang?.match(/^\S+/)?.[0]} growing={growing} />;
    case "list":
      return list(token);
    case "table":
      return table(token);
    case "blockquote":
      return <blockquote>{inside(token.tokens, growing)}</blockquote>;
    case "hr":
      return <hr />;
    case "br":
      return <br />;
    case "strong":
      return <strong>{inside(token.tokens)}</strong>;
    case "em":
      return <em>{inside(token.tokens)}</em>;
    case "del":
      return <del>{inside(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "link":
      return (
        <Anchor href={token.href} title={token.title}>
          {inside(token.tokens)}
        </Anchor>
      );
    case "image":
      // Never loaded by itself: an address in an answer could tell on who reads it.
      return (
        <Anchor href={token.href} title={token.title}>
          🖼 {plain(token.text) || token.href}
        </Anchor>
      );
    case "checkbox":
      return (
        <input
          type="checkbox"
          checked={token.checked}
          disabled
          aria-label={token.checked ? "Done" : "To do"}
        />
      );
    case "text":
      return token.tokens ? inside(token.tokens) : plain(token.text);
    case "escape":
      return token.text;
    case "html":
      return token.block ? <pre className={css.html}>{token.text.trimEnd()}</pre> : token.text;
    case "space":
    case "def":
      return null;
    default:
      return given.raw;
  }
}
