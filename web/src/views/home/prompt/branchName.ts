/** Names a branch after a prompt: its first telling words, as git and people like them. */

const MOST_WORDS = 5;
const MOST_LETTERS = 40;
const FILLERS = new Set(
  "a an and are as at be but by can could for from have i in is it its me my of on or our please should so that the their them then there this to us we will with would you your".split(
    " ",
  ),
);

export function branchName(prompt: string): string {
  const words = (prompt.trim().split("\n", 1)[0] ?? "")
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .toLowerCase()
    .replace(/ß/g, "ss")
    .replace(/['’]/g, "")
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  const telling = words.filter((word) => !FILLERS.has(word));
  let name = "";
  for (const word of (telling.length ? telling : words).slice(0, MOST_WORDS)) {
    const longer = name ? `${name}-${word}` : word.slice(0, MOST_LETTERS);
    if (longer.length > MOST_LETTERS) break;
    name = longer;
  }
  return name;
}

/** Returns the first name that is not in use: `fix-login`, `fix-login-2`, … */
export function freeBranch(name: string, used: ReadonlySet<string>): string {
  if (!name || !used.has(name)) return name;
  let number = 2;
  while (used.has(`${name}-${number}`)) number++;
  return `${name}-${number}`;
}
