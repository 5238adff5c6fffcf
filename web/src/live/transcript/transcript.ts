/** Holds one session's transcript: loads the newest messages, pages backwards and forwards, and applies events. Each entry
 * has its own listeners, so that a growing message redraws only itself. */
import { ApiError } from "@/api/client";
import type { Message } from "@/api/types";
import type { LiveEvent } from "../eventStream";
import { GrowingText } from "./growingText";
import { type MessageSource, restSource } from "./restSource";
import type { TranscriptEntry, TranscriptOutline } from "./types";

export type { TranscriptEntry, TranscriptOutline };

export const PAGE = 60;
/** Older pages are larger, so that scrolling back through thousands of messages seldom has to wait. */
export const OLDER_PAGE = 200;
/** Queued prompts have positions from here on; they belong to the queue, not to the transcript. */
export const QUEUED_BASE = 2 ** 40;
/** After a gap with more changes than this, reloading is cheaper. */
const MAX_CHANGES = 500;
/** Transactions may commit out of order, so that catching up reads the last seconds twice rather than miss a change. */
const OVERLAP = 5000;

const isQueued = (message: Message) => message.position >= QUEUED_BASE;
type Page = { messages: Message[]; hasOlder: boolean; hasNewer: boolean };

export class Transcript {
  #entries = new Map<string, TranscriptEntry>();
  /** Ids of inherited messages, in order: positions in other sessions cannot be compared with positions here. */
  #inherited: string[] = [];
  #isFork = false;
  #outline: TranscriptOutline = { ids: [], status: "loading", error: null, hasOlder: false, hasNewer: false };
  #outlineListeners = new Set<() => void>();
  #entryListeners = new Map<string, Set<() => void>>();
  /** Events held back while a load is in flight, whose response may be older than they are; `null` when none is. */
  #heldEvents: LiveEvent[] | null = [];
  #changed = new Set<string>();
  #outlineChanged = false;
  #frame = 0;
  #paging: Promise<void> | null = null;
  #loads = 0;
  #openedAt: string | undefined;
  #growingText = new GrowingText((id) => this.#refetch(id));

  constructor(
    readonly sessionId: string,
    private readonly source: MessageSource = restSource,
  ) {}

  outline = (): TranscriptOutline => this.#outline;
  entry = (id: string): TranscriptEntry | undefined => this.#entries.get(id);

  followOutline = (listener: () => void): (() => void) => {
    this.#outlineListeners.add(listener);
    return () => this.#outlineListeners.delete(listener);
  };

  follow(id: string, listener: () => void): () => void {
    const listeners = this.#entryListeners.get(id) ?? new Set();
    this.#entryListeners.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (!listeners.size && this.#entryListeners.get(id) === listeners) this.#entryListeners.delete(id);
    };
  }

  /** Loads the newest page, or the pages around one message; events that arrive meanwhile are applied afterwards. */
  async load(around?: string): Promise<void> {
    if (around && this.#entries.has(around) && !this.#heldEvents) return;
    const load = ++this.#loads;
    this.#heldEvents = [];
    this.#openedAt = around;
    this.#update({ status: this.#outline.ids.length ? "ready" : "loading", error: null });
    try {
      const { messages, hasOlder, hasNewer } = await (around ? this.#around(around) : this.#newest());
      if (load !== this.#loads) return;
      const known = new Map(this.#entries);
      this.#entries.clear();
      this.#inherited = [];
      this.#growingText.clear();
      for (const message of messages) this.#put(message, known.get(message.id)?.text);
      this.#outline = { ...this.#outline, status: "ready", hasOlder: hasOlder || this.#isFork, hasNewer };
      this.#releaseEvents();
      this.#outlineChanged = true;
      for (const message of messages) this.#changed.add(message.id);
      this.#flush();
    } catch (error) {
      if (load !== this.#loads) return;
      if (this.#outline.ids.length) this.#releaseEvents();
      this.#update({ status: this.#outline.ids.length ? "ready" : "failed", error });
    }
  }

  /** Catches up after a gap in the stream and keeps the loaded pages. */
  async refresh(): Promise<void> {
    const lastChange = [...this.#entries.values()].reduce(
      (max, { message }) => (message.updatedAt > max ? message.updatedAt : max),
      "",
    );
    if (!lastChange || this.#heldEvents) return this.load(this.#openedAt);
    const since = new Date(Date.parse(lastChange) - OVERLAP).toISOString();
    try {
      const messages = await this.source.page(this.sessionId, { since, limit: MAX_CHANGES });
      if (messages.length >= MAX_CHANGES) return await this.load();
      for (const message of messages) this.#record(message);
      if (this.#outline.error) this.#update({ error: null });
    } catch (error) {
      this.#update({ error });
    }
  }

  async #newest(): Promise<Page> {
    let messages = await this.source.page(this.sessionId, { limit: PAGE });
    let isFull = messages.length >= PAGE;
    // A long queue can fill a whole page; the conversation comes before it.
    while (isFull && messages.every(isQueued)) {
      messages = await this.source.page(this.sessionId, { before: messages[0]!.id, limit: PAGE });
      isFull = messages.length >= PAGE;
    }
    return { messages, hasOlder: isFull, hasNewer: false };
  }

  async #around(id: string): Promise<Page> {
    const half = PAGE / 2;
    try {
      const [before, middle, after] = await Promise.all([
        this.source.page(this.sessionId, { before: id, limit: half }),
        this.source.message(id),
        this.source.page(this.sessionId, { after: id, limit: half }),
      ]);
      const hasNewer = after.length >= half && !isQueued(after.at(-1)!);
      return { messages: [...before, middle, ...after], hasOlder: before.length >= half, hasNewer };
    } catch (error) {
      // A link to a message that was removed or belongs to another session still opens this session.
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) return this.#newest();
      throw error;
    }
  }

  /** Marks the session as a fork, whose inherited messages come before its own. */
  includeInherited(): void {
    if (this.#isFork) return;
    this.#isFork = true;
    if (this.#outline.status === "ready") this.#update({ hasOlder: true });
  }

  loadOlder(): Promise<void> {
    return this.#page("older");
  }

  loadNewer(): Promise<void> {
    return this.#page("newer");
  }

  #page(direction: "older" | "newer"): Promise<void> {
    if (this.#paging) return this.#paging;
    const { ids, hasOlder, hasNewer } = this.#outline;
    if (!(direction === "older" ? hasOlder : hasNewer) || this.#heldEvents) return Promise.resolve();
    const page = direction === "older" ? this.#pageOlder(ids[0]) : this.#pageNewer(ids.at(-1));
    this.#paging = page.finally(() => {
      this.#paging = null;
    });
    return this.#paging;
  }

  async #pageOlder(before?: string): Promise<void> {
    const load = this.#loads;
    const inherited = this.#isFork || undefined;
    const messages = await this.source.page(this.sessionId, { before, limit: OLDER_PAGE, inherited });
    // Draws pending changes first, so that the list can tell prepended messages from appended ones.
    if (this.#outlineChanged) {
      this.#flush();
      await new Promise((resolve) => setTimeout(resolve));
    }
    if (load !== this.#loads) return;
    const inheritedMessages = messages.filter(
      (message) => message.sessionId !== this.sessionId && !this.#entries.has(message.id),
    );
    for (const message of messages) this.#put(message);
    this.#inherited = [...inheritedMessages.map((message) => message.id), ...this.#inherited];
    this.#outline = { ...this.#outline, hasOlder: messages.length >= OLDER_PAGE };
    this.#outlineChanged = true;
    this.#flush();
  }

  async #pageNewer(after?: string): Promise<void> {
    const load = this.#loads;
    this.#heldEvents = [];
    try {
      const messages = await this.source.page(this.sessionId, { after, limit: PAGE });
      if (load !== this.#loads) return;
      for (const message of messages) this.#put(message);
      this.#outline = { ...this.#outline, hasNewer: messages.length >= PAGE && !isQueued(messages.at(-1)!) };
      this.#outlineChanged = true;
    } finally {
      if (load === this.#loads) this.#releaseEvents();
      this.#flush();
    }
  }

  /** Applies an event of this session and ignores all others. */
  take(event: LiveEvent): void {
    if (event.sessionId !== this.sessionId || !event.type.startsWith("message.")) return;
    if (this.#heldEvents) this.#heldEvents.push(event);
    else if (event.type === "message.removed") this.#remove(event.objectId!);
    else if (event.type === "message.delta" || event.type === "message.snapshot")
      this.#append(event.messageId!, event.offset ?? 0, event.text ?? "");
    else this.#record(event.data as Message);
  }

  #releaseEvents(): void {
    const events = this.#heldEvents ?? [];
    this.#heldEvents = null;
    for (const event of events) this.take(event);
  }

  #record(message: Message): void {
    const known = this.#entries.get(message.id);
    if (!known && this.#isOnUnloadedPage(message)) return;
    if (message.content.type === "omitted") {
      this.#refetch(message.id);
      return;
    }
    if (known && message.updatedAt < known.message.updatedAt) return;
    this.#put(message, known?.text);
    if (!known || known.message.position !== message.position) this.#outlineChanged = true;
    this.#markChanged(message.id);
  }

  /** Whether a message belongs to a page that is not loaded. */
  #isOnUnloadedPage(message: Message): boolean {
    if (this.#outline.hasNewer) return true;
    const first = this.#outline.ids.find((id) => this.#entries.get(id)?.message.sessionId === this.sessionId);
    const edge = first && this.#entries.get(first)?.message.position;
    return this.#outline.hasOlder && edge !== undefined && message.position < Number(edge);
  }

  #refetch(id: string): void {
    void this.source.message(id).then(
      (message) => this.#record(message),
      () => undefined,
    );
  }

  #put(message: Message, streamed?: string): void {
    if (isQueued(message)) {
      this.#remove(message.id);
      return;
    }
    const stored = message.content.text ?? "";
    const longest =
      message.content.partial && streamed !== undefined && streamed.length > stored.length
        ? streamed
        : stored;
    const text = this.#growingText.replace(message.id, longest, Boolean(message.content.partial));
    this.#entries.set(message.id, { id: message.id, message, text });
  }

  #remove(id: string): void {
    if (!this.#entries.delete(id)) return;
    this.#growingText.forget(id);
    this.#outlineChanged = true;
    this.#schedule();
  }

  #append(id: string, offset: number, text: string): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    const grown = this.#growingText.append(id, entry.text, offset, text);
    if (grown === entry.text) return;
    this.#entries.set(id, { ...entry, text: grown });
    this.#markChanged(id);
  }

  #markChanged(id: string): void {
    this.#changed.add(id);
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    if (this.#frame) cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const changed = [...this.#changed];
    this.#changed.clear();
    if (this.#outlineChanged) {
      this.#outlineChanged = false;
      const own = [...this.#entries.values()].filter((entry) => entry.message.sessionId === this.sessionId);
      own.sort((a, b) => a.message.position - b.message.position);
      this.#update({ ids: [...this.#inherited, ...own.map((entry) => entry.id)] });
    }
    for (const id of changed) for (const listener of this.#entryListeners.get(id) ?? []) listener();
  }

  #update(change: Partial<TranscriptOutline>): void {
    this.#outline = { ...this.#outline, ...change };
    for (const listener of this.#outlineListeners) listener();
  }
}
