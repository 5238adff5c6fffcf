/** Following live things from components. */
import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import { useExternal } from "@/lib/external";
import type { Connection, EventStream, LiveEvent } from "./eventStream";
import { type Entry, type Shape, Transcript } from "./transcript/transcript";

export const StreamContext = createContext<EventStream | null>(null);

export function useStream(): EventStream {
  const stream = useContext(StreamContext);
  if (!stream) throw new Error("There is no event stream around this component.");
  return stream;
}

export const useConnection = (): Connection => useExternal(useStream().connection);

export function useEvents(listener: (event: LiveEvent) => void): void {
  const stream = useStream();
  useEffect(() => stream.listen(listener), [stream, listener]);
}

/** The transcript of a session, kept current while this component lives. */
export function useTranscript(sessionId: string, around?: string): Transcript {
  const stream = useStream();
  const transcript = useMemo(() => new Transcript(sessionId), [sessionId]);
  useEffect(() => {
    // What is read before the stream stands may be older than its beginning.
    let early = stream.connection.get().state !== "live";
    const forget = stream.listen((event) => {
      // What failed while the server was away is tried again when it is back.
      const behind = event.type === "stream.ready" && (early || transcript.shape().error !== null);
      if (event.type === "stream.gap" || behind) {
        early = false;
        void transcript.refresh();
      } else transcript.take(event);
    });
    // An address that no longer names a message leaves the reader where they are.
    if (around || transcript.shape().state !== "ready") void transcript.load(around);
    return forget;
  }, [stream, transcript, around]);
  return transcript;
}

export const useShape = (transcript: Transcript): Shape =>
  useSyncExternalStore(transcript.followShape, transcript.shape);

export function useEntry(transcript: Transcript, id: string): Entry | undefined {
  const follow = useMemo(() => (listener: () => void) => transcript.follow(id, listener), [transcript, id]);
  return useSyncExternalStore(follow, () => transcript.entry(id));
}
