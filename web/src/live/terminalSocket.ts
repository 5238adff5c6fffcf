/** Connects the page to a terminal of the server: one WebSocket, which reconnects by itself. Binary frames are what is typed and
 * printed; text frames are JSON. */

interface Notice {
  type: "opened" | "resized" | "skipped" | "ended";
  columns?: number;
  rows?: number;
  replayed?: number;
  code?: number;
}

export interface TerminalListener {
  /** A new connection: forget what is shown. The first `replayed` bytes that follow were printed before. */
  opened: (columns: number, rows: number, replayed: number) => void;
  /** Shows output and calls `shown` afterwards. */
  printed: (data: Uint8Array, shown: () => void) => void;
  resized: (columns: number, rows: number) => void;
  skipped: () => void;
  /** The shell has ended with a code, or the server refuses this viewer for a reason. */
  ended: (code: number | null, reason: string) => void;
  /** The server cannot be reached; it is tried again. */
  lost: () => void;
}

const FIRST_DELAY = 300;
const LONGEST_DELAY = 3000;
/** The server's close codes: it refused the caller, or knows no such terminal. */
const isFinal = (code: number) => code === 1000 || (code >= 4400 && code < 4500);
/** The server takes no larger messages. */
const LARGEST_PIECE = 64 * 1024;

export class TerminalSocket {
  #socket: WebSocket | null = null;
  #delay = FIRST_DELAY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly url: string,
    private readonly protocols: () => string[],
    private readonly listener: TerminalListener,
  ) {
    this.#connect();
  }

  close(): void {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  type(data: Uint8Array<ArrayBuffer>): void {
    for (let start = 0; start < data.length; start += LARGEST_PIECE)
      this.#send(data.subarray(start, start + LARGEST_PIECE));
  }

  resize(columns: number, rows: number): void {
    this.#send(JSON.stringify({ columns, rows }));
  }

  #send(data: string | Uint8Array<ArrayBuffer>): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(data);
  }

  #connect(): void {
    const socket = new WebSocket(this.url, this.protocols());
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      if (socket !== this.#socket) return;
      if (typeof data === "string") this.#hear(JSON.parse(data) as Notice);
      else {
        const printed = new Uint8Array(data as ArrayBuffer);
        this.listener.printed(printed, () => this.#send(JSON.stringify({ ack: printed.length })));
      }
    };
    socket.onclose = ({ code, reason }) => {
      if (socket !== this.#socket) return;
      this.#socket = null;
      if (isFinal(code)) {
        this.listener.ended(null, reason);
        return;
      }
      this.listener.lost();
      this.#timer = setTimeout(() => this.#connect(), this.#delay);
      this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY);
    };
  }

  #hear(notice: Notice): void {
    const { columns = 80, rows = 24 } = notice;
    if (notice.type === "opened") {
      this.#delay = FIRST_DELAY;
      this.listener.opened(columns, rows, notice.replayed ?? 0);
    } else if (notice.type === "resized") this.listener.resized(columns, rows);
    else if (notice.type === "skipped") this.listener.skipped();
    else {
      this.close();
      this.listener.ended(notice.code ?? 0, "");
    }
  }
}
