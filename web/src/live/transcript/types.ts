/** Types that describe a loaded transcript. */
import type { Message } from "@/api/types";

export interface TranscriptEntry {
  readonly id: string;
  readonly message: Message;
  /** The text so far, which may be ahead of the stored message while it streams. */
  readonly text: string;
}

export interface TranscriptOutline {
  /** Message ids in the order of the conversation; a new array whenever they change. */
  readonly ids: readonly string[];
  readonly status: "loading" | "ready" | "failed";
  readonly error: unknown;
  /** Whether the server has messages before the first one loaded, or after the last. */
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
}
