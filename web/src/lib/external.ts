/** A value outside React that components can subscribe to. Data from the server belongs in the query cache instead. */
import { useSyncExternalStore } from "react";

export class ExternalStore<T> {
  #value: T;
  #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get = (): T => this.#value;

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export function useExternal<T>(external: ExternalStore<T>): T {
  return useSyncExternalStore(external.subscribe, external.get);
}
