/** Stores preferences in this browser: theme, drafts, folded panels. Its other tabs follow; what must be the same on every
 * device is stored by the server. */
import { ExternalStore, useExternal } from "./external";

const PREFIX = "bough.";
const known = new Map<string, ExternalStore<unknown>>();

function read(name: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function external<T>(name: string): ExternalStore<T | undefined> {
  const value = known.get(name) ?? new ExternalStore(read(name));
  known.set(name, value);
  return value as ExternalStore<T | undefined>;
}

export function getPref<T>(name: string, fallback: T): T {
  return external<T>(name).get() ?? fallback;
}

/** Stores a preference; `undefined` removes it. If the browser's storage is full or forbidden, the value lasts until the
 * page is closed. */
export function setPref<T>(name: string, value: T | undefined): void {
  external<T>(name).set(value);
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {}
}

export function usePref<T>(name: string, fallback: T): [T, (value: T | undefined) => void] {
  const value = useExternal(external<T>(name));
  return [value ?? fallback, (next) => setPref(name, next)];
}

if (typeof window !== "undefined")
  window.addEventListener("storage", (event) => {
    if (event.key?.startsWith(PREFIX)) {
      const name = event.key.slice(PREFIX.length);
      known.get(name)?.set(read(name));
    }
  });
