/** Connects the page to the server's event stream: one WebSocket that reconnects by itself and resumes from its cursor.
 * Listeners decide what an event means. */
import { ExternalStore } from "@/lib/external";

export interface LiveEvent {
  type: string;
  cursor?: number;
  sessionId: string | null;
  objectId?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the record after the change; its type depends on the event
  data?: any;
  messageId?: string;
  offset?: number;
  text?: string;
  from?: number;
  to?: number;
}

/** `since` is when the page was last up to date. */
export type Connection = { state: "connecting" | "live" | "offline" | "locked"; since: number };

const FIRST_DELAY = 300;
// Short: until it has passed, the page says that a server which is back cannot be reached.
const LONGEST_DELAY = 2000;
const CONNECT_TIMEOUT = 8000;
// A one-second timer that finds more than this has passed means that the computer was asleep.
const TICK = 1000;
const ASLEEP_AFTER = 8000;

type Listener = (event: LiveEvent) => unknown;

export class EventStream {
  readonly connection = new ExternalStore<Connection>({ state: "connecting", since: Date.now() });
  cursor: number | null = null;
  #socket: WebSocket | null = null;
  #listeners = new Set<Listener>();
  #delay = FIRST_DELAY;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #connectTimer: ReturnType<typeof setTimeout> | undefined;
  #lastTick = Date.now();
  #clock: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly url: string,
    private readonly whyRefused: () => Promise<"locked" | "offline"> = async () => "offline",
    private readonly protocols: () => string[] = () => [],
  ) {}

  start(): () => void {
    this.#connect();
    const onOnline = () => this.reconnect();
    const checkForSleep = () => {
      const now = Date.now();
      if (now - this.#lastTick > ASLEEP_AFTER) this.reconnect();
      this.#lastTick = now;
    };
    this.#clock = setInterval(checkForSleep, TICK);
    window.addEventListener("online", onOnline);
    document.addEventListener("visibilitychange", checkForSleep);
    return () => {
      clearInterval(this.#clock);
      window.removeEventListener("online", onOnline);
      document.removeEventListener("visibilitychange", checkForSleep);
      this.#drop();
    };
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Replaces a connection that may have silently died. The server replays what was missed. */
  reconnect(): void {
    this.#delay = FIRST_DELAY;
    this.#drop();
    // The next events are a replay; the page is live again after `stream.ready`.
    if (this.connection.get().state === "live")
      this.connection.set({ state: "connecting", since: this.#lastTick });
    this.#connect();
  }

  #drop(): void {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#connectTimer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #connect(): void {
    const query = this.cursor === null ? "" : `?cursor=${this.cursor}`;
    const socket = new WebSocket(this.url + query, this.protocols());
    this.#socket = socket;
    this.#connectTimer = setTimeout(() => socket.close(), CONNECT_TIMEOUT);
    socket.onmessage = ({ data }) => {
      if (socket === this.#socket) this.#dispatch(JSON.parse(data as string) as LiveEvent);
    };
    socket.onclose = () => {
      if (socket === this.#socket) void this.#onClose();
    };
  }

  async #onClose(): Promise<void> {
    clearTimeout(this.#connectTimer);
    this.#socket = null;
    const { state, since } = this.connection.get();
    // Stays `locked` until a connection succeeds, so that the message about it does not flicker.
    if (state !== "locked")
      this.connection.set({ state: "offline", since: state === "live" ? Date.now() : since });
    this.#retryTimer = setTimeout(() => this.#connect(), this.#delay * (0.75 + Math.random() / 2));
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY);
    const reason = await this.whyRefused();
    const now = this.connection.get();
    if (now.state !== "live" && now.state !== reason)
      this.connection.set({ state: reason, since: now.since });
  }

  #dispatch(event: LiveEvent): void {
    if (event.type === "stream.ready") {
      clearTimeout(this.#connectTimer);
      this.#delay = FIRST_DELAY;
      this.cursor = event.cursor ?? this.cursor;
      this.connection.set({ state: "live", since: Date.now() });
    } else if (event.cursor !== undefined) this.cursor = event.cursor;
    for (const listener of this.#listeners)
      try {
        listener(event);
      } catch (error) {
        // Other listeners still need the event: it is not sent again.
        reportError(error);
      }
  }
}
