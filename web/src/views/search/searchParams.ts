/** A search as it stands in the address: words and filters, so that it can be linked to and gone back to. */

export const FILTERS = ["repoId", "agent", "type", "archived", "since", "sessionId"] as const;
export type Filter = (typeof FILTERS)[number];

export interface Wanted extends Partial<Record<Filter, string>> {
  q: string;
}

export function read(params: URLSearchParams): Wanted {
  const wanted: Wanted = { q: params.get("q") ?? "" };
  for (const name of FILTERS) {
    const value = params.get(name);
    if (value) wanted[name] = value;
  }
  return wanted;
}

export function write(wanted: Wanted): URLSearchParams {
  const params = new URLSearchParams();
  for (const name of ["q", ...FILTERS] as const) {
    const value = wanted[name]?.trim();
    if (value) params.set(name, value);
  }
  return params;
}

const DAY = 86_400_000;
export const AGES: Record<string, { name: string; days: number }> = {
  day: { name: "The last day", days: 1 },
  week: { name: "The last week", days: 7 },
  month: { name: "The last month", days: 31 },
  year: { name: "The last year", days: 366 },
};

/** The same as the server takes it. An age is a moment by the day, so that one question is asked once a day. */
export function query(wanted: Wanted, now = Date.now()) {
  const { q, since, archived, ...rest } = wanted;
  const age = since ? AGES[since] : undefined;
  return {
    q,
    ...rest,
    archived: archived === "yes" ? true : archived === "no" ? false : undefined,
    since: age ? new Date(Math.floor(now / DAY) * DAY - age.days * DAY).toISOString() : undefined,
  };
}

/** The parts of a snippet, those that were asked for marked. Ranges count code points. */
export function marked(
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
