/** Grows the text of streaming messages by deltas whose offsets count code points. When a delta is missing, asks for the
 * stored message once and appends the deltas that arrived meanwhile. */

/** How long the stored message may take to catch up with the stream before it is requested again. */
const RETRY_AFTER = 1000;

interface Delta {
  offset: number;
  text: string;
}

/** Counts the code points of a text, as the server does. */
export const codePoints = (text: string): number => {
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

const fromCodePoint = (text: string, start: number): string =>
  start <= 0 ? text : [...text].slice(start).join("");

export class GrowingText {
  #lengths = new Map<string, number>();
  #pending = new Map<string, Delta[]>();
  #requestedAt = new Map<string, number>();

  constructor(private readonly requestMessage: (id: string) => void) {}

  clear(): void {
    this.#lengths.clear();
    this.#pending.clear();
    this.#requestedAt.clear();
  }

  forget(id: string): void {
    this.#lengths.delete(id);
    this.#pending.delete(id);
    this.#requestedAt.delete(id);
  }

  /** Returns the text of a message that was loaded whole, with its pending deltas appended. */
  replace(id: string, text: string, partial: boolean): string {
    this.#lengths.delete(id);
    const pending = this.#pending.get(id);
    if (!pending) return text;
    this.#pending.delete(id);
    if (!partial) {
      this.#requestedAt.delete(id);
      return text;
    }
    let grown = text;
    for (const delta of pending) grown = this.append(id, grown, delta.offset, delta.text);
    return grown;
  }

  /** Returns the text with a delta appended, or unchanged if an earlier delta is missing. */
  append(id: string, current: string, offset: number, text: string): string {
    const length = this.#lengths.get(id) ?? codePoints(current);
    if (offset > length) {
      const pending = this.#pending.get(id) ?? [];
      this.#pending.set(id, pending);
      pending.push({ offset, text });
      const now = Date.now();
      if (now - (this.#requestedAt.get(id) ?? 0) >= RETRY_AFTER) {
        this.#requestedAt.set(id, now);
        this.requestMessage(id);
      }
      return current;
    }
    const added = fromCodePoint(text, length - offset);
    this.#lengths.set(id, length + codePoints(added));
    return current + added;
  }
}
