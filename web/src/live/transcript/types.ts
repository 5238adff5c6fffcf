/** What a transcript shows of itself: its messages, and which of them are here. */
import type { Message } from "@/api/types";

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
