/** Sending what is in the box: once, however often it has to be tried, and cleared only when the server has it. */
import { useState } from "react";
import { type PromptFile, sendPrompt } from "@/api/actions";

/** What was sent and has no answer yet, by session. The key belongs to one content: the same prompt tried again, also by
 * who went away and came back meanwhile, is the same; another one is not. */
const unanswered = new Map<string, { key: string; content: string }>();

export function useSend(sessionId: string) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const send = async (text: string, files: PromptFile[]): Promise<boolean> => {
    const body = { text, ...(files.length ? { files } : {}) };
    const content = JSON.stringify(body);
    const before = unanswered.get(sessionId);
    const now = before?.content === content ? before : { key: crypto.randomUUID(), content };
    unanswered.set(sessionId, now);
    setBusy(true);
    setError(null);
    try {
      await sendPrompt(sessionId, body, now.key);
      unanswered.delete(sessionId);
      return true;
    } catch (refused) {
      setError(refused instanceof Error ? refused.message : String(refused));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, setError, send };
}
