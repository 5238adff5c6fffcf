/** The key by which this browser calls the server. It is in the storage of this origin, so no other port or site gets it, and
 * is sent as a header. The link that `bough serve` prints leads here with a ticket, which is exchanged for the key. */
const STORED = "bough.key";
const TICKET = "#ticket=";

/** Read at each use: another tab may have signed in again. */
function pageKey(): string | null {
  try {
    return localStorage.getItem(STORED) ?? sessionKey;
  } catch {
    return sessionKey;
  }
}

/** Holds the key if the browser has no storage; it then lasts until the page is closed. */
let sessionKey: string | null = null;

export function keyHeaders(): Record<string, string> {
  const key = pageKey();
  return key ? { authorization: `Bearer ${key}` } : {};
}

/** Returns the protocols to offer for a WebSocket, the only header that a browser lets a page choose. */
export function socketProtocols(): string[] {
  const key = pageKey();
  return key ? ["bough", `bough.key.${key}`] : [];
}

/** Exchanges the ticket in the address, if any, for a key. Without one, the server's refusals tell what to do. */
export async function signIn(): Promise<void> {
  if (!location.hash.startsWith(TICKET)) return;
  const ticket = location.hash.slice(TICKET.length);
  history.replaceState(history.state, "", location.pathname + location.search);
  const response = await fetch("/sign-in", {
    method: "POST",
    headers: { "content-type": "application/json", ...keyHeaders() },
    body: JSON.stringify({ ticket }),
  }).catch(() => null);
  if (!response?.ok) return;
  const { key } = (await response.json()) as { key: string };
  sessionKey = key;
  try {
    localStorage.setItem(STORED, key);
  } catch {}
}
