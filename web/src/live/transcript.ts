/** One session's transcript in this page: the newest messages first, older ones by pages, text as it streams in. Each
 * entry has listeners of its own, so that a growing message redraws itself and nothing else. */
import { api, got } from "@/api/client";
import type { Message } from "@/api/types";
import type { LiveEvent } from "./stream";

export const PAGE = 60;
/** Prompts that wait sort behind the whole conversation; they belong to the queue, not to the transcript. */
export const QUEUED_BASE = 2 ** 40;

export interface Entry {
  readonly id: string;
  readonly message: Message;
  /** The text so far, which may be ahead of the message that was stored. */
  readonly text: string;
}

export interface Shape {
  /** Ids in the order of the conversation. A new array whenever it changes. */
  readonly ids: readonly string[];
  readonly state: "loading" | "ready" | "failed";
  readonly error: unknown;
  /** Whether there are messages before the first one here, and after the last. */
  readonly older: boolean;
  readonly newer: boolean;
}

const points = (text: string): number => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};
const fromPoint = (text: string, start: number): string =>
  start <= 0 ? text : [...text].slice(start).join("");

export interface Source {
  page(sessionId: string, query: { before?: string; after?: string; limit: number }): Promise<Message[]>;
  one(messageId: string): Promise<Message>;
}

const rest: Source = {
  page: async (sessionId, query) =>
    (await got(
      api.GET("/api/sessions/{sessionId}/messages", { params: { path: { sessionId }, query } }),
    )) as Message[],
  one: async (messageId) =>
    (await got(api.GET("/api/messages/{messageId}", { params: { path: { messageId } } }))) as Message,
};

export class Transcript {
  #entries = new Map<string, Entry>();
  #lengths = new Map<string, number>();
  #shape: Shape = { ids: [], state: "loading", error: null, older: false, newer: false };
  #shapeListeners = new Set<() => void>();
  #entryListeners = new Map<string, Set<() => void>>();
  #early: LiveEvent[] = [];
  #dirty = new Set<string>();
  #dirtyShape = false;
  #frame = 0;
  #busy: Promise<void> | null = null;
  #loads = 0;
  #loading = true;

  constructor(
    readonly sessionId: string,
    private readonly source: Source = rest,
  ) {}

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
      if (!listeners.size) this.#entryListeners.delete(id);
    };
  }

  /** The newest page, or the pages around one message. What comes by the stream meanwhile is added to it. */
  async load(around?: string): Promise<void> {
    const turn = ++this.#loads;
    this.#loading = true;
    this.#set({ state: this.#shape.ids.length ? "ready" : "loading", error: null });
    try {
      const [found, older, newer] = await (around ? this.#around(around) : this.#newest());
      if (turn !== this.#loads) return;
      const known = new Map(this.#entries);
      this.#entries.clear();
      this.#lengths.clear();
      for (const message of found) this.#put(message, known.get(message.id)?.text);
      this.#loading = false;
      this.#set({ state: "ready", older, newer });
      const early = this.#early;
      this.#early = [];
      for (const event of early) this.take(event);
      this.#dirtyShape = true;
      for (const message of found) this.#dirty.add(message.id);
      this.#flush();
    } catch (error) {
      if (turn !== this.#loads) return;
      this.#loading = false;
      this.#set({ state: this.#shape.ids.length ? "ready" : "failed", error });
    }
  }

  async #newest(): Promise<[Message[], boolean, boolean]> {
    let page = await this.source.page(this.sessionId, { limit: PAGE });
    // A long queue can fill a whole page: the conversation is before it.
    while (page.length >= PAGE && page.every((message) => message.position >= QUEUED_BASE))
      page = await this.source.page(this.sessionId, { before: page[0]!.id, limit: PAGE });
    return [page, page.length >= PAGE, false];
  }

  async #around(id: string): Promise<[Message[], boolean, boolean]> {
    const half = PAGE / 2;
    const [before, middle, after] = await Promise.all([
      this.source.page(this.sessionId, { before: id, limit: half }),
      this.source.one(id),
      this.source.page(this.sessionId, { after: id, limit: half }),
    ]);
    return [[...before, middle, ...after], before.length >= half, after.length >= half];
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
    if (!this.#shape[which] || !edge) return Promise.resolve();
    const work = async () => {
      try {
        const query = which === "older" ? { before: edge } : { after: edge };
        const found = await this.source.page(this.sessionId, { ...query, limit: PAGE });
        for (const message of found) this.#put(message);
        this.#set({ [which]: found.length >= PAGE });
        this.#dirtyShape = true;
        this.#flush();
      } finally {
        this.#busy = null;
      }
    };
    this.#busy = work();
    return this.#busy;
  }

  /** An event of this session; others are none of its business. */
  take(event: LiveEvent): void {
    if (event.sessionId !== this.sessionId) return;
    if (this.#loading) {
      if (event.type.startsWith("message.")) this.#early.push(event);
      return;
    }
    switch (event.type) {
      case "message.created":
      case "message.patched":
        this.#record(event.data as Message);
        break;
      case "message.removed":
        this.#remove(event.objectId!);
        break;
      case "message.delta":
      case "message.snapshot":
        this.#grow(event.messageId!, event.offset ?? 0, event.text ?? "");
        break;
    }
  }

  #record(message: Message): void {
    const known = this.#entries.get(message.id);
    // While only the past is shown, what is new belongs behind what has not been loaded yet.
    if (!known && this.#shape.newer) return;
    if (message.content.type === "omitted") {
      void this.source.one(message.id).then(
        (whole) => this.#record(whole),
        () => undefined,
      );
      return;
    }
    if (known && message.updatedAt < known.message.updatedAt) return;
    this.#put(message, known?.text);
    if (!known || known.message.position !== message.position) this.#dirtyShape = true;
    this.#touch(message.id);
  }

  #put(message: Message, ahead?: string): void {
    if (message.position >= QUEUED_BASE) {
      if (this.#entries.has(message.id)) this.#remove(message.id);
      return;
    }
    const stored = message.content.text ?? "";
    const text =
      message.content.partial && ahead !== undefined && ahead.length > stored.length ? ahead : stored;
    this.#entries.set(message.id, { id: message.id, message, text });
    this.#lengths.delete(message.id);
  }

  #remove(id: string): void {
    if (!this.#entries.delete(id)) return;
    this.#lengths.delete(id);
    this.#dirtyShape = true;
    this.#schedule();
  }

  #grow(id: string, offset: number, text: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const length = this.#lengths.get(id) ?? points(entry.text);
    if (offset > length) {
      // Something was missed: the message as it stands is the truth.
      void this.source.one(id).then(
        (whole) => this.#record(whole),
        () => undefined,
      );
      return;
    }
    const added = fromPoint(text, length - offset);
    if (!added) return;
    this.#entries.set(id, { ...entry, text: entry.text + added });
    this.#lengths.set(id, length + points(added));
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
      const order = [...this.#entries.values()].sort((a, b) => a.message.position - b.message.position);
      this.#set({ ids: order.map((entry) => entry.id) });
    }
    for (const id of dirty) for (const listener of this.#entryListeners.get(id) ?? []) listener();
  }

  #set(change: Partial<Shape>): void {
    this.#shape = { ...this.#shape, ...change };
    for (const listener of this.#shapeListeners) listener();
  }
}
