/** Formats numbers, times and ids for people. */

export function shortId(id: string): string {
  return id.slice(-8);
}

export function tokens(count: number): string {
  if (count < 1000) return `${count}`;
  if (count < 999_500) return `${(count / 1000).toFixed(count < 9950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(count < 9_950_000 ? 1 : 0)}M`;
}

export function money(amount: number, currency = "USD"): string {
  const sign = currency === "USD" ? "$" : `${currency} `;
  if (amount > 0 && amount < 0.01) return `<${sign}0.01`;
  return sign + amount.toFixed(amount < 100 ? 2 : 0);
}

export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1000).toFixed(0)} KB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

export function duration(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function ago(time: string, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(time)) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  if (seconds < 7 * 86_400) return `${Math.round(seconds / 86_400)} d ago`;
  return new Date(time).toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}

export function plural(count: number, name: string, many = `${name}s`): string {
  return `${count} ${count === 1 ? name : many}`;
}

/** Returns the words of a Markdown text without its marks. Underscores and stars inside a word stay: they belong to names. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+]|\d+[.)])[ \t]+/gm, "")
    .replace(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, "$1")
    .replace(/`+([^`\n]+)`+/g, "$1")
    .replace(/(?<![\w*_])(\*\*\*|\*\*|\*|___|__|_)(?=\S)([^\n]*?\S)\1(?![\w*_]|\.\w)/g, "$2");
}

/** Returns the first line of a text, shortened at the end of a word. */
export function firstLine(text: string, most = 120): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  if (line.length <= most) return line;
  const cut = line.slice(0, most);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), most - 20)).trimEnd()}…`;
}

/** Returns a time to the minute, with its date unless that is today's. */
export function minuteOf(time: string, now = new Date()): string {
  const date = new Date(time);
  const minute = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === now.toDateString()) return minute;
  return `${date.toLocaleDateString(undefined, { month: "short", day: "numeric" })}, ${minute}`;
}

/** Returns the time of day. */
export function clockTime(time: number): string {
  return new Date(time).toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
}
