/** The cursor goes to what has just appeared, once: given as a `ref`, which must be the same at every drawing. */
export const focusOnce = (element: HTMLElement | null): void => element?.focus();
