/** Lets a package that inserts style elements live with the page's content security policy, which forbids them. */

/** Runs `build`. Each style element that it creates is an empty element whose text becomes a style sheet of the document; the
 * sheet goes with the element. */
export function withAdoptedStyles(build: () => void): void {
  const create = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions) =>
    name === "style" ? styleSubstitute(create("span")) : create(name, options)) as typeof create;
  try {
    build();
  } finally {
    // Uncovers the prototype's method again.
    Reflect.deleteProperty(document, "createElement");
  }
}

function styleSubstitute(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  let text = "";
  document.adoptedStyleSheets.push(sheet);
  element.hidden = true;
  Object.defineProperty(element, "textContent", {
    get: () => text,
    set: (next: string) => {
      text = next;
      sheet.replaceSync(next);
    },
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((adopted) => adopted !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}
