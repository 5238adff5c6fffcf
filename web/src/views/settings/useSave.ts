/** Saves a settings form: reports progress, closes the form on success, keeps the error otherwise. */
import { useState } from "react";

export function useSave(work: () => Promise<unknown>, onDone: () => void) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      await work();
      onDone();
    } catch (refused) {
      setError(refused instanceof Error ? refused.message : String(refused));
    }
    setBusy(false);
  };
  return { busy, error, save };
}
