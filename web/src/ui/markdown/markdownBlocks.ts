/** Cuts growing Markdown into its blocks: while text is added at its end, only the last blocks are read again, and those
 * before keep their identity. */
import { Lexer, type Links, type Token } from "marked";

export interface Block {
  /** Where it begins in the text: its name for as long as the text only grows. */
  readonly start: number;
  readonly token: Token;
  /** Cut from a very long paragraph, which goes on in the next block. */
  readonly cut?: boolean;
}

export interface Blocks {
  readonly text: string;
  readonly list: readonly Block[];
  readonly links: Links;
}

// Ends of lines are kept by the style sheet, which is cheaper than an element for each.
const OPTIONS = { gfm: true, breaks: false };
/** A paragraph beyond this is cut at a line: output without an empty line would else be read again as a whole each time. */
const LONGEST = 4000;
/** So many blocks at the end may still change when text is added: a list goes on after empty lines. */
const OPEN = 2;

export const none: Blocks = { text: "", list: [], links: {} };

export function blocks(given: string, known: Blocks = none): Blocks {
  const text = given.includes("\r") ? given.replace(/\r\n?/g, "\n") : given;
  if (text === known.text) return known;
  if (!known.text || !text.startsWith(known.text)) return whole(text);
  const kept = known.list.slice(0, Math.max(0, known.list.length - OPEN));
  const start = known.list[kept.length]?.start ?? 0;
  const { list, links } = lex(text.slice(start), start, known.links);
  // A reference that is defined late changes what was said before it.
  if (Object.keys(links).length !== Object.keys(known.links).length) return whole(text);
  return { text, list: [...kept, ...list], links };
}

function whole(text: string): Blocks {
  return { text, ...lex(text, 0, {}) };
}

function lex(source: string, from: number, known: Links): { list: Block[]; links: Links } {
  const lexer = new Lexer(OPTIONS);
  Object.assign(lexer.tokens.links, known);
  const list: Block[] = [];
  let start = from;
  for (const token of lexer.lex(source)) {
    if (token.type === "paragraph" && token.raw.length > LONGEST)
      list.push(...pieces(token.raw, start, known));
    else if (token.type !== "space" && token.type !== "def") list.push({ start, token });
    start += token.raw.length;
  }
  return { list, links: lexer.tokens.links };
}

function pieces(raw: string, from: number, links: Links): Block[] {
  const found: Block[] = [];
  let at = 0;
  while (at < raw.length) {
    const line = raw.length - at > LONGEST ? raw.lastIndexOf("\n", at + LONGEST) : -1;
    const end = line > at ? line + 1 : raw.length - at > LONGEST ? nextLine(raw, at + LONGEST) : raw.length;
    const piece = raw.slice(at, end);
    const lexer = new Lexer(OPTIONS);
    Object.assign(lexer.tokens.links, links);
    const text = piece.replace(/\n$/, "");
    const token = { type: "paragraph", raw: piece, text, tokens: lexer.inlineTokens(text) } as Token;
    found.push({ start: from + at, token, cut: end < raw.length });
    at = end;
  }
  return found;
}

const nextLine = (raw: string, from: number) => {
  const line = raw.indexOf("\n", from);
  return line < 0 ? raw.length : line + 1;
};
