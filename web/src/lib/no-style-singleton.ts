/** Stands in for a package that dialogs use to write style sheets into the page: its policy forbids that, and what they
 * would say is in `base.css`. */

export const styleSingleton = () => () => null;
export const styleHookSingleton = () => () => undefined;
export const stylesheetSingleton = () => ({ add: () => undefined, remove: () => undefined });
