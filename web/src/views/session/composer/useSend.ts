/** Sends prompts. A retry of the same prompt reuses its idempotency key, so that the server accepts it only once. */
import { useState } from "react";
import { type PromptFile, sendPrompt } from "@/api/actions";
import { ApiError } from "@/api/client";
import { useWhenLive } from "@/live/hooks";
import { toastMadeRoom } from "@/views/forms/layout/toastMadeRoom";

/** Prompts without a response yet, by session. The key belongs to the content, so that a retry after leaving and returning
 * to the page is still the same prompt. */
const unanswered = new Map<string, { key: string; content: string }>();

export function useSend(sessionId: string) {
  const [busy, setBusy] = useState(false);
  const [error, setErrorText] = useState<string | null>(null);
  const [isOffline, setOffline] = useState(false);
  const setError = (text: string | null) => {
    setErrorText(text);
    setOffline(false);
  };
  useWhenLive(() => isOffline && setError(null));
  const send = async (text: string, files: PromptFile[], when?: "now" | "after_stop"): Promise<boolean> => {
    const body = { text, ...(files.length ? { files } : {}), ...(when ? { when } : {}) };
    const content = JSON.stringify(body);
    const previous = unanswered.get(sessionId);
    const attempt = previous?.content === content ? previous : { key: crypto.randomUUID(), content };
    unanswered.set(sessionId, attempt);
    setBusy(true);
    setError(null);
    try {
      toastMadeRoom(await sendPrompt(sessionId, body, attempt.key));
      unanswered.delete(sessionId);
      return true;
    } catch (caught) {
      setError(caught instanceof Error ? caught.message : String(caught));
      setOffline(caught instanceof ApiError && caught.code === "offline");
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, setError, send };
}
