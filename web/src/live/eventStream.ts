/** The event stream (A3): one socket for the whole page, which goes on from its cursor after every break. What events
 * mean for what is shown is up to those who listen. */
import { External } from "@/lib/external";

export interface LiveEvent {
  type: string;
  cursor?: number;
  sessionId: string | null;
  objectId?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the record as it stood; listeners know what theirs is
  data?: any;
  messageId?: string;
  offset?: number;
  text?: string;
  from?: number;
  to?: number;
}

/** `since` is when the page last knew the truth. */
export type Connection = { state: "connecting" | "live" | "offline" | "locked"; since: number };

const FIRST_PAUSE = 300;
const LONGEST_PAUSE = 5000;
const CONNECT_LIMIT = 8000;
// A laptop that slept: a clock that ticks each second finds that many have gone by at once.
const TICK = 1000;
const SLEPT = 8000;

type Listener = (event: LiveEvent) => void;

export class EventStream {
  readonly connection = new External<Connection>({ state: "connecting", since: Date.now() });
  cursor: number | null = null;
  #socket: WebSocket | null = null;
  #listeners = new Set<Listener>();
  #pause = FIRST_PAUSE;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #limit: ReturnType<typeof setTimeout> | undefined;
  #lastTick = Date.now();
  #clock: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly url: string,
    private readonly whyRefused: () => Promise<"locked" | "offline"> = async () => "offline",
  ) {}

  start(): () => void {
    this.#connect();
    const soon = () => this.reconnect();
    const awake = () => {
      const now = Date.now();
      if (now - this.#lastTick > SLEPT) this.reconnect();
      this.#lastTick = now;
    };
    this.#clock = setInterval(awake, TICK);
    window.addEventListener("online", soon);
    document.addEventListener("visibilitychange", awake);
    return () => {
      clearInterval(this.#clock);
      window.removeEventListener("online", soon);
      document.removeEventListener("visibilitychange", awake);
      this.#drop();
    };
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Trusts nothing of the present connection: what it missed comes with the next one. */
  reconnect(): void {
    this.#pause = FIRST_PAUSE;
    this.#drop();
    // What comes now was missed: it is not live before all of it is here.
    if (this.connection.get().state === "live")
      this.connection.set({ state: "connecting", since: this.#lastTick });
    this.#connect();
  }

  #drop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#limit);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #connect(): void {
    const query = this.cursor === null ? "" : `?cursor=${this.cursor}`;
    const socket = new WebSocket(this.url + query);
    this.#socket = socket;
    this.#limit = setTimeout(() => socket.close(), CONNECT_LIMIT);
    socket.onmessage = ({ data }) => {
      if (socket === this.#socket) this.#take(JSON.parse(data as string) as LiveEvent);
    };
    socket.onclose = () => {
      if (socket === this.#socket) void this.#closed();
    };
  }

  async #closed(): Promise<void> {
    clearTimeout(this.#limit);
    this.#socket = null;
    const { state, since } = this.connection.get();
    // Who is locked out stays so until it is known otherwise: what is said about it would else come and go.
    if (state !== "locked")
      this.connection.set({ state: "offline", since: state === "live" ? Date.now() : since });
    this.#timer = setTimeout(() => this.#connect(), this.#pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    const why = await this.whyRefused();
    const now = this.connection.get();
    if (now.state !== "live" && now.state !== why) this.connection.set({ state: why, since: now.since });
  }

  #take(event: LiveEvent): void {
    if (event.type === "stream.ready") {
      clearTimeout(this.#limit);
      this.#pause = FIRST_PAUSE;
      this.cursor = event.cursor ?? this.cursor;
      this.connection.set({ state: "live", since: Date.now() });
    } else if (event.cursor !== undefined) this.cursor = event.cursor;
    for (const listener of this.#listeners)
      try {
        listener(event);
      } catch (error) {
        // The others must hear it all the same: it does not come again.
        reportError(error);
      }
  }
}
