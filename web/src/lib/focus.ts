/** Moves the focus by code, without a ring around an area that is no control. The next visit by keyboard shows one. */
export function focusByCode(element: HTMLElement | null | undefined): void {
  if (!element) return;
  element.dataset.focusedByCode = "";
  element.addEventListener("blur", () => delete element.dataset.focusedByCode, { once: true });
  element.focus({ preventScroll: true });
}
