/** The words and filters of a search, stored in the address so that it can be linked to. */

export const FILTERS = ["repoId", "agent", "type", "archived", "since", "sessionId"] as const;
export type FilterName = (typeof FILTERS)[number];

export interface SearchParams extends Partial<Record<FilterName, string>> {
  q: string;
}

/** Reads a search from the address. */
export function readSearchParams(address: URLSearchParams): SearchParams {
  const params: SearchParams = { q: address.get("q") ?? "" };
  for (const name of FILTERS) {
    const value = address.get(name);
    if (value) params[name] = value;
  }
  return params;
}

/** Writes a search to the address. */
export function toUrlParams(params: SearchParams): URLSearchParams {
  const address = new URLSearchParams();
  for (const name of ["q", ...FILTERS] as const) {
    const value = params[name]?.trim();
    if (value) address.set(name, value);
  }
  return address;
}

const DAY = 86_400_000;
export const AGE_LIMITS: Record<string, { name: string; days: number }> = {
  day: { name: "Past day", days: 1 },
  week: { name: "Past week", days: 7 },
  month: { name: "Past month", days: 31 },
  year: { name: "Past year", days: 366 },
};

/** Converts a search to a query of the server. Ages are rounded to days, so that the same query is cached for a day. */
export function searchRequest(params: SearchParams, now = Date.now()) {
  const { q, since, archived, ...rest } = params;
  const age = since ? AGE_LIMITS[since] : undefined;
  return {
    q,
    ...rest,
    archived: archived === "yes" ? true : archived === "no" ? false : undefined,
    since: age ? new Date(Math.floor(now / DAY) * DAY - age.days * DAY).toISOString() : undefined,
  };
}

/** Splits a snippet into matching and other parts. Ranges count code points. */
export function splitAtMarks(
  snippet: string,
  marks: readonly (readonly number[])[],
): { text: string; hit: boolean }[] {
  const points = [...snippet];
  const parts: { text: string; hit: boolean }[] = [];
  const add = (from: number, to: number, hit: boolean) => {
    const text = points.slice(from, to).join("");
    if (text) parts.push({ text, hit });
  };
  let at = 0;
  for (const [start = 0, end = 0] of marks) {
    add(at, start, false);
    add(Math.max(at, start), end, true);
    at = Math.max(at, end);
  }
  add(at, points.length, false);
  return parts;
}
