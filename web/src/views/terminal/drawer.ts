/** Which place's terminals the drawer shows. It stays open while the person moves about, and in this tab also after a reload. */
import type { TerminalPlace } from "@/api/queries";
import { ExternalStore, useExternal } from "@/lib/external";

export interface OpenDrawer {
  place: TerminalPlace;
  /** Names the place: `repo · branch`, or the session's title. */
  name: string;
}

const STORED = "bough.terminal";

function read(): OpenDrawer | null {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? "null");
  } catch {
    return null;
  }
}

const drawer = new ExternalStore<OpenDrawer | null>(typeof sessionStorage === "undefined" ? null : read());

export const useDrawer = () => useExternal(drawer);

export function openDrawer(next: OpenDrawer | null): void {
  drawer.set(next);
  try {
    if (next) sessionStorage.setItem(STORED, JSON.stringify(next));
    else sessionStorage.removeItem(STORED);
  } catch {}
}
