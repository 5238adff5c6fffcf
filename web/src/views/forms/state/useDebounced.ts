/** A value that has stood still for a while: what is typed is asked about when the typing pauses. */
import { useEffect, useState } from "react";

export function useSettled<T>(value: T, pause: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(timer);
  }, [value, pause]);
  return settled;
}
