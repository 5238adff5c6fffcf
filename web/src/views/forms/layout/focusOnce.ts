/** Focuses an element when it appears; pass this function itself as the `ref`, so that it runs once. */
export const focusOnce = (element: HTMLElement | null): void => element?.focus();
