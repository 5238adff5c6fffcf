/** Turns Markdown tokens into React elements. Text never becomes markup: raw HTML is shown as text, and only web and mail
 * links are followed. */
import type { MarkedToken, Token, Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";
import { Code } from "../code/Code";
import css from "./Markdown.module.css";

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Resolves HTML character references. */
export const decodeEntities = (text: string): string =>
  text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]+);/gi, (reference, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name.toLowerCase()] ?? reference;
    const code = name[1]?.toLowerCase() === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : reference;
  });

/** Returns a URL that is safe to follow, or null. */
export function safeUrl(href: string): string | null {
  try {
    const url = new URL(decodeEntities(href).trim());
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function Anchor({ href, title, children }: { href: string; title?: string | null; children: ReactNode }) {
  const url = safeUrl(href);
  // A path or an unsafe URL: shows the text with the address as its tooltip.
  if (!url) return <span title={decodeEntities(href)}>{children}</span>;
  return (
    <a href={url} title={title ? decodeEntities(title) : undefined} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

const renderTokens = (tokens: Token[] | undefined, growing = false): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: the tokens of a text never move
  tokens?.map((token, at) => <Fragment key={at}>{renderToken(token, growing)}</Fragment>);

const Item = memo(
  function Item({ item }: { item: Tokens.ListItem }) {
    return <li className={item.task ? css.task : undefined}>{renderTokens(item.tokens)}</li>;
  },
  (before, after) => before.item.raw === after.item.raw && before.item.loose === after.item.loose,
);

function list(token: Tokens.List): ReactNode {
  // biome-ignore lint/suspicious/noArrayIndexKey: the items of a list never move
  const items = token.items.map((item, at) => <Item key={at} item={item} />);
  if (token.ordered) return <ol start={token.start === "" ? undefined : token.start}>{items}</ol>;
  return <ul>{items}</ul>;
}

function table(token: Tokens.Table): ReactNode {
  const cells = (row: Tokens.TableCell[], Cell: "th" | "td") =>
    row.map((cell, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: cells never move
      <Cell key={at} style={cell.align ? { textAlign: cell.align } : undefined}>
        {renderTokens(cell.tokens)}
      </Cell>
    ));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll areas must be reachable by keyboard
    <section className={css.scroll} tabIndex={0} aria-label="Table">
      <table>
        <thead>
          <tr>{cells(token.header, "th")}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows never move
            <tr key={at}>{cells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Every heading of a message is an h2, whatever its depth, so that no heading level is skipped on the page. */
const heading = (token: Tokens.Heading): ReactNode => (
  <h2 className={css.heading} data-depth={token.depth}>
    {renderTokens(token.tokens)}
  </h2>
);

export function renderToken(source: Token, growing = false): ReactNode {
  const token = source as MarkedToken;
  switch (token.type) {
    case "paragraph":
      return <p>{renderTokens(token.tokens)}</p>;
    case "heading":
      return heading(token);
    case "code":
      return <Code text={token.text} language={token.lang?.match(/^\S+/)?.[0]} growing={growing} />;
    case "list":
      return list(token);
    case "table":
      return table(token);
    case "blockquote":
      return <blockquote>{renderTokens(token.tokens, growing)}</blockquote>;
    case "hr":
      return <hr />;
    case "br":
      return <br />;
    case "strong":
      return <strong>{renderTokens(token.tokens)}</strong>;
    case "em":
      return <em>{renderTokens(token.tokens)}</em>;
    case "del":
      return <del>{renderTokens(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "link":
      return (
        <Anchor href={token.href} title={token.title}>
          {renderTokens(token.tokens)}
        </Anchor>
      );
    case "image":
      // Images are never loaded: a URL in an answer could track the reader.
      return (
        <Anchor href={token.href} title={token.title}>
          🖼 {decodeEntities(token.text) || token.href}
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
      return token.tokens ? renderTokens(token.tokens) : decodeEntities(token.text);
    case "escape":
      return token.text;
    case "html":
      return token.block ? <pre className={css.html}>{token.text.trimEnd()}</pre> : token.text;
    case "space":
    case "def":
      return null;
    default:
      return source.raw;
  }
}
