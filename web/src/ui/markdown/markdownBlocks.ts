/** Parses growing Markdown into blocks: when text is appended, only the last blocks are parsed again, and earlier ones keep
 * their identity. */
import { Lexer, type Links, type Token } from "marked";

export interface Block {
  /** Where it begins in the text; identifies the block while the text only grows. */
  readonly start: number;
  readonly token: Token;
  /** Part of a very long paragraph that continues in the next block. */
  readonly cut?: boolean;
}

export interface Blocks {
  readonly text: string;
  readonly list: readonly Block[];
  readonly links: Links;
}

// The style sheet preserves line breaks, which is cheaper than an element for each.
const OPTIONS = { gfm: true, breaks: false };
/** A longer paragraph is cut at a line break; otherwise output without empty lines would be parsed again as a whole. */
const MAX_PARAGRAPH = 4000;
/** The number of blocks at the end that may still change when text is added: a list continues after empty lines. */
const OPEN_BLOCKS = 2;

export const NO_BLOCKS: Blocks = { text: "", list: [], links: {} };

/** Parses a text, reusing the blocks of its previous version. */
export function parseBlocks(source: string, previous: Blocks = NO_BLOCKS): Blocks {
  const text = source.includes("\r") ? source.replace(/\r\n?/g, "\n") : source;
  if (text === previous.text) return previous;
  if (!previous.text || !text.startsWith(previous.text)) return parseAll(text);
  const unchanged = previous.list.slice(0, Math.max(0, previous.list.length - OPEN_BLOCKS));
  const start = previous.list[unchanged.length]?.start ?? 0;
  const { list, links } = lex(text.slice(start), start, previous.links);
  // A link reference that is defined late changes earlier blocks.
  if (Object.keys(links).length !== Object.keys(previous.links).length) return parseAll(text);
  return { text, list: [...unchanged, ...list], links };
}

function parseAll(text: string): Blocks {
  return { text, ...lex(text, 0, {}) };
}

function lex(source: string, from: number, known: Links): { list: Block[]; links: Links } {
  const lexer = new Lexer(OPTIONS);
  Object.assign(lexer.tokens.links, known);
  const list: Block[] = [];
  let start = from;
  for (const token of lexer.lex(source)) {
    if (token.type === "paragraph" && token.raw.length > MAX_PARAGRAPH)
      list.push(...splitParagraph(token.raw, start, known));
    else if (token.type !== "space" && token.type !== "def") list.push({ start, token });
    start += token.raw.length;
  }
  return { list, links: lexer.tokens.links };
}

function splitParagraph(raw: string, from: number, links: Links): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < raw.length) {
    const line = raw.length - at > MAX_PARAGRAPH ? raw.lastIndexOf("\n", at + MAX_PARAGRAPH) : -1;
    const end =
      line > at ? line + 1 : raw.length - at > MAX_PARAGRAPH ? nextLine(raw, at + MAX_PARAGRAPH) : raw.length;
    const piece = raw.slice(at, end);
    const lexer = new Lexer(OPTIONS);
    Object.assign(lexer.tokens.links, links);
    const text = piece.replace(/\n$/, "");
    const token = { type: "paragraph", raw: piece, text, tokens: lexer.inlineTokens(text) } as Token;
    blocks.push({ start: from + at, token, cut: end < raw.length });
    at = end;
  }
  return blocks;
}

const nextLine = (raw: string, from: number) => {
  const line = raw.indexOf("\n", from);
  return line < 0 ? raw.length : line + 1;
};
