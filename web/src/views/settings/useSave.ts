/** Saving a form of the settings: busy while it is under way, closed when it is done, the refusal kept when it is not. */
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
