/** How the text of messages grows: by deltas whose offsets count code points. A hole is filled from the stored message,
 * asked for once and not with every further delta; what came meanwhile is put behind it. */

/** How long a stored message is given to catch up with the stream before it is asked for again. */
const AGAIN_AFTER = 1000;

interface Piece {
  offset: number;
  text: string;
}

export const points = (text: string): number => {
  let count = text.length;
  for (let at = 0; at < text.length - 1; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      const next = text.charCodeAt(at + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        count -= 1;
        at += 1;
      }
    }
  }
  return count;
};

const fromPoint = (text: string, start: number): string =>
  start <= 0 ? text : [...text].slice(start).join("");

export class Growth {
  #lengths = new Map<string, number>();
  #waiting = new Map<string, Piece[]>();
  #asked = new Map<string, number>();

  constructor(private readonly ask: (id: string) => void) {}

  clear(): void {
    this.#lengths.clear();
    this.#waiting.clear();
    this.#asked.clear();
  }

  forget(id: string): void {
    this.#lengths.delete(id);
    this.#waiting.delete(id);
    this.#asked.delete(id);
  }

  /** The text of a message that came whole, with what waited for it. */
  replaced(id: string, text: string, partial: boolean): string {
    this.#lengths.delete(id);
    const waiting = this.#waiting.get(id);
    if (!waiting) return text;
    this.#waiting.delete(id);
    if (!partial) {
      this.#asked.delete(id);
      return text;
    }
    let grown = text;
    for (const piece of waiting) grown = this.grow(id, grown, piece.offset, piece.text);
    return grown;
  }

  /** The text with a piece added, or as it was if the piece has to wait. */
  grow(id: string, known: string, offset: number, text: string): string {
    const length = this.#lengths.get(id) ?? points(known);
    if (offset > length) {
      const waiting = this.#waiting.get(id) ?? [];
      this.#waiting.set(id, waiting);
      waiting.push({ offset, text });
      const now = Date.now();
      if (now - (this.#asked.get(id) ?? 0) >= AGAIN_AFTER) {
        this.#asked.set(id, now);
        this.ask(id);
      }
      return known;
    }
    const added = fromPoint(text, length - offset);
    this.#lengths.set(id, length + points(added));
    return known + added;
  }
}
