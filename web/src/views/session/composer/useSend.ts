/** Sending what is in the box: once, however often it has to be tried, and cleared only when the server has it. */
import { useRef, useState } from "react";
import { type PromptFile, sendPrompt } from "@/api/actions";

export function useSend(sessionId: string) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  // The key belongs to one content: the same prompt tried again is the same, another one is not.
  const last = useRef({ key: "", content: "" });
  const send = async (text: string, files: PromptFile[]): Promise<boolean> => {
    const body = { text, ...(files.length ? { files } : {}) };
    const content = JSON.stringify(body);
    if (last.current.content !== content) last.current = { key: crypto.randomUUID(), content };
    setBusy(true);
    setError(null);
    try {
      await sendPrompt(sessionId, body, last.current.key);
      last.current = { key: "", content: "" };
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
