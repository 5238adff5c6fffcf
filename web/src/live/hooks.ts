/** Hooks that give components the event stream, the connection's state and live transcripts. */
import { createContext, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { useExternal } from "@/lib/external";
import type { Connection, EventStream, LiveEvent } from "./eventStream";
import { Transcript, type TranscriptEntry, type TranscriptOutline } from "./transcript/transcript";

export const StreamContext = createContext<EventStream | null>(null);

export function useStream(): EventStream {
  const stream = useContext(StreamContext);
  if (!stream) throw new Error("useStream() needs a StreamContext above the component.");
  return stream;
}

export const useConnection = (): Connection => useExternal(useStream().connection);

export function useEvents(listener: (event: LiveEvent) => void): void {
  const stream = useStream();
  useEffect(() => stream.listen(listener), [stream, listener]);
}

/** Runs a function whenever the connection becomes live. Does nothing in a part of a page that has no stream. */
export function useWhenLive(run: () => unknown): void {
  const stream = useContext(StreamContext);
  const latest = useRef(run);
  useEffect(() => {
    latest.current = run;
  });
  useEffect(() => stream?.listen((event) => event.type === "stream.ready" && latest.current()), [stream]);
}

/** Returns a session's transcript and keeps it current while the component is mounted. `around` opens it at one message. */
export function useTranscript(sessionId: string, around?: string): Transcript {
  const stream = useStream();
  const transcript = useMemo(() => new Transcript(sessionId), [sessionId]);
  useEffect(() => {
    // Messages read before the stream is live may be older than its first event.
    let mayBeStale = stream.connection.get().state !== "live";
    const stopListening = stream.listen((event) => {
      // A load that failed while the server was away is retried when it is back.
      const isBehind = event.type === "stream.ready" && (mayBeStale || transcript.outline().error !== null);
      if (event.type === "stream.gap" || isBehind) {
        mayBeStale = false;
        void transcript.refresh();
      } else transcript.take(event);
    });
    // When the URL stops naming a message, the reader stays where they are.
    if (around || transcript.outline().status !== "ready") void transcript.load(around);
    return stopListening;
  }, [stream, transcript, around]);
  return transcript;
}

export const useOutline = (transcript: Transcript): TranscriptOutline =>
  useSyncExternalStore(transcript.followOutline, transcript.outline);

export function useEntry(transcript: Transcript, id: string): TranscriptEntry | undefined {
  const follow = useMemo(() => (listener: () => void) => transcript.follow(id, listener), [transcript, id]);
  return useSyncExternalStore(follow, () => transcript.entry(id));
}
