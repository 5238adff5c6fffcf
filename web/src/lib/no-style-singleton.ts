/** Replaces a package with which dialogs insert style sheets: the page's content security policy forbids that, so `base.css`
 * has those rules. */

export const styleSingleton = () => () => null;
export const styleHookSingleton = () => () => undefined;
export const stylesheetSingleton = () => ({ add: () => undefined, remove: () => undefined });
