/** One session's transcript in this page: the newest messages first, older ones by pages, text as it streams in. Each
 * entry has listeners of its own, so that a growing message redraws itself and nothing else. */
import { ApiError } from "@/api/client";
import type { Message } from "@/api/types";
import type { LiveEvent } from "../eventStream";
import { Growth } from "./growingText";
import { rest, type Source } from "./restSource";
import type { Entry, Shape } from "./types";

export type { Entry, Shape };

export const PAGE = 60;
/** Pages backwards are larger: who scrolls through thousands of messages should not wait at each few dozen. */
export const OLDER_PAGE = 200;
/** Prompts that wait sort behind the whole conversation; they belong to the queue, not to the transcript. */
export const QUEUED_BASE = 2 ** 40;
/** After a gap, more changes than these are cheaper to load anew. */
const MOST_CHANGES = 500;
/** Transactions end in another order than their clocks say; a little is read twice instead of missed. */
const OVERLAP = 5000;

const isQueued = (message: Message) => message.position >= QUEUED_BASE;
type Page = { found: Message[]; older: boolean; newer: boolean };

export class Transcript {
  #entries = new Map<string, Entry>();
  /** What a fork inherited, in order: positions of other sessions say nothing here. */
  #past: string[] = [];
  #inherits = false;
  #shape: Shape = { ids: [], state: "loading", error: null, older: false, newer: false };
  #shapeListeners = new Set<() => void>();
  #entryListeners = new Map<string, Set<() => void>>();
  /** Events that wait for an answer on the way, which may be older than they are. */
  #early: LiveEvent[] | null = [];
  #dirty = new Set<string>();
  #dirtyShape = false;
  #frame = 0;
  #busy: Promise<void> | null = null;
  #loads = 0;
  #opened: string | undefined;
  #growth: Growth;

  constructor(
    readonly sessionId: string,
    private readonly source: Source = rest,
  ) {
    this.#growth = new Growth((id) => this.#refetch(id));
  }

  shape = (): Shape => this.#shape;
  entry = (id: string): Entry | undefined => this.#entries.get(id);

  followShape = (listener: () => void): (() => void) => {
    this.#shapeListeners.add(listener);
    return () => this.#shapeListeners.delete(listener);
  };

  follow(id: string, listener: () => void): () => void {
    const listeners = this.#entryListeners.get(id) ?? new Set();
    this.#entryListeners.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (!listeners.size && this.#entryListeners.get(id) === listeners) this.#entryListeners.delete(id);
    };
  }

  /** The newest page, or the pages around one message. What comes by the stream meanwhile is added to it. */
  async load(around?: string): Promise<void> {
    if (around && this.#entries.has(around) && !this.#early) return;
    const turn = ++this.#loads;
    this.#early = [];
    this.#opened = around;
    this.#set({ state: this.#shape.ids.length ? "ready" : "loading", error: null });
    try {
      const { found, older, newer } = await (around ? this.#around(around) : this.#newest());
      if (turn !== this.#loads) return;
      const known = new Map(this.#entries);
      this.#entries.clear();
      this.#past = [];
      this.#growth.clear();
      for (const message of found) this.#put(message, known.get(message.id)?.text);
      this.#shape = { ...this.#shape, state: "ready", older: older || this.#inherits, newer };
      this.#replay();
      this.#dirtyShape = true;
      for (const message of found) this.#dirty.add(message.id);
      this.#flush();
    } catch (error) {
      if (turn !== this.#loads) return;
      if (this.#shape.ids.length) this.#replay();
      this.#set({ state: this.#shape.ids.length ? "ready" : "failed", error });
    }
  }

  /** Catches up with what the stream could not tell, and keeps the pages that are here. */
  async refresh(): Promise<void> {
    const last = [...this.#entries.values()].reduce(
      (max, { message }) => (message.updatedAt > max ? message.updatedAt : max),
      "",
    );
    if (!last || this.#early) return this.load(this.#opened);
    const since = new Date(Date.parse(last) - OVERLAP).toISOString();
    try {
      const found = await this.source.page(this.sessionId, { since, limit: MOST_CHANGES });
      if (found.length >= MOST_CHANGES) return await this.load();
      for (const message of found) this.#record(message);
      if (this.#shape.error) this.#set({ error: null });
    } catch (error) {
      this.#set({ error });
    }
  }

  async #newest(): Promise<Page> {
    let found = await this.source.page(this.sessionId, { limit: PAGE });
    let full = found.length >= PAGE;
    // A long queue can fill a whole page: the conversation is before it.
    while (full && found.every(isQueued)) {
      found = await this.source.page(this.sessionId, { before: found[0]!.id, limit: PAGE });
      full = found.length >= PAGE;
    }
    return { found, older: full, newer: false };
  }

  async #around(id: string): Promise<Page> {
    const half = PAGE / 2;
    try {
      const [before, middle, after] = await Promise.all([
        this.source.page(this.sessionId, { before: id, limit: half }),
        this.source.one(id),
        this.source.page(this.sessionId, { after: id, limit: half }),
      ]);
      const newer = after.length >= half && !isQueued(after.at(-1)!);
      return { found: [...before, middle, ...after], older: before.length >= half, newer };
    } catch (error) {
      // A link to a message that is gone, or that is another session's, still opens the session.
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) return this.#newest();
      throw error;
    }
  }

  /** Says that the session is a fork: before its own beginning comes what it inherited. */
  inherit(): void {
    if (this.#inherits) return;
    this.#inherits = true;
    if (this.#shape.state === "ready") this.#set({ older: true });
  }

  loadOlder(): Promise<void> {
    return this.#page("older");
  }

  loadNewer(): Promise<void> {
    return this.#page("newer");
  }

  #page(which: "older" | "newer"): Promise<void> {
    if (this.#busy) return this.#busy;
    const edge = which === "older" ? this.#shape.ids[0] : this.#shape.ids.at(-1);
    if (!this.#shape[which] || this.#early) return Promise.resolve();
    this.#busy = (which === "older" ? this.#pageOlder(edge) : this.#pageNewer(edge)).finally(() => {
      this.#busy = null;
    });
    return this.#busy;
  }

  async #pageOlder(edge?: string): Promise<void> {
    const turn = this.#loads;
    const inherited = this.#inherits || undefined;
    const found = await this.source.page(this.sessionId, { before: edge, limit: OLDER_PAGE, inherited });
    // What is added in front is drawn by itself, so that the list can tell it from what comes behind.
    if (this.#dirtyShape) {
      this.#flush();
      await new Promise((resolve) => setTimeout(resolve));
    }
    if (turn !== this.#loads) return;
    const past = found.filter(
      (message) => message.sessionId !== this.sessionId && !this.#entries.has(message.id),
    );
    for (const message of found) this.#put(message);
    this.#past = [...past.map((message) => message.id), ...this.#past];
    this.#shape = { ...this.#shape, older: found.length >= OLDER_PAGE };
    this.#dirtyShape = true;
    this.#flush();
  }

  async #pageNewer(edge?: string): Promise<void> {
    const turn = this.#loads;
    this.#early = [];
    try {
      const found = await this.source.page(this.sessionId, { after: edge, limit: PAGE });
      if (turn !== this.#loads) return;
      for (const message of found) this.#put(message);
      this.#shape = { ...this.#shape, newer: found.length >= PAGE && !isQueued(found.at(-1)!) };
      this.#dirtyShape = true;
    } finally {
      if (turn === this.#loads) this.#replay();
      this.#flush();
    }
  }

  /** An event of this session; others are none of its business. */
  take(event: LiveEvent): void {
    if (event.sessionId !== this.sessionId || !event.type.startsWith("message.")) return;
    if (this.#early) this.#early.push(event);
    else if (event.type === "message.removed") this.#remove(event.objectId!);
    else if (event.type === "message.delta" || event.type === "message.snapshot")
      this.#grow(event.messageId!, event.offset ?? 0, event.text ?? "");
    else this.#record(event.data as Message);
  }

  #replay(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.take(event);
  }

  #record(message: Message): void {
    const known = this.#entries.get(message.id);
    if (!known && this.#isElsewhere(message)) return;
    if (message.content.type === "omitted") {
      this.#refetch(message.id);
      return;
    }
    if (known && message.updatedAt < known.message.updatedAt) return;
    this.#put(message, known?.text);
    if (!known || known.message.position !== message.position) this.#dirtyShape = true;
    this.#touch(message.id);
  }

  /** Whether a message belongs to pages that are not here: behind the last while only the past is shown, or before the first. */
  #isElsewhere(message: Message): boolean {
    if (this.#shape.newer) return true;
    const first = this.#shape.ids.find((id) => this.#entries.get(id)?.message.sessionId === this.sessionId);
    const edge = first && this.#entries.get(first)?.message.position;
    return this.#shape.older && edge !== undefined && message.position < Number(edge);
  }

  #refetch(id: string): void {
    void this.source.one(id).then(
      (whole) => this.#record(whole),
      () => undefined,
    );
  }

  #put(message: Message, ahead?: string): void {
    if (isQueued(message)) {
      this.#remove(message.id);
      return;
    }
    const stored = message.content.text ?? "";
    const kept =
      message.content.partial && ahead !== undefined && ahead.length > stored.length ? ahead : stored;
    const text = this.#growth.replaced(message.id, kept, Boolean(message.content.partial));
    this.#entries.set(message.id, { id: message.id, message, text });
  }

  #remove(id: string): void {
    if (!this.#entries.delete(id)) return;
    this.#growth.forget(id);
    this.#dirtyShape = true;
    this.#schedule();
  }

  #grow(id: string, offset: number, text: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const grown = this.#growth.grow(id, entry.text, offset, text);
    if (grown === entry.text) return;
    this.#entries.set(id, { ...entry, text: grown });
    this.#touch(id);
  }

  #touch(id: string): void {
    this.#dirty.add(id);
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    if (this.#frame) cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const dirty = [...this.#dirty];
    this.#dirty.clear();
    if (this.#dirtyShape) {
      this.#dirtyShape = false;
      const own = [...this.#entries.values()].filter((entry) => entry.message.sessionId === this.sessionId);
      own.sort((a, b) => a.message.position - b.message.position);
      this.#set({ ids: [...this.#past, ...own.map((entry) => entry.id)] });
    }
    for (const id of dirty) for (const listener of this.#entryListeners.get(id) ?? []) listener();
  }

  #set(change: Partial<Shape>): void {
    this.#shape = { ...this.#shape, ...change };
    for (const listener of this.#shapeListeners) listener();
  }
}
