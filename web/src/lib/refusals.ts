/** The server's reasons for refusing something, as the page shows them: without advice to send fields of a request. */

const ADVICE: readonly [RegExp, string][] = [
  // “Commit them, or send force: true; they are kept first.”
  [/,? or (?:send|complete (?:it|them) with) \w+: true(?:(?!, then )[^.])*/g, ""],
  // “Send resume: true, or fork it.”
  [/\bSend resume: true, or fork it\b/g, "Resume or fork it"],
  // “A turn is running. Send force: true to end it.”
  [/ ?\bSend \w+: true\b[^.]*\./g, ""],
];

/** Returns a refusal without the fields that a program would send; the page has switches and buttons for those. */
export const withoutFields = (message: string): string =>
  ADVICE.reduce((text, [advice, instead]) => text.replace(advice, instead), message);
