/** Markdown as React elements. */
export function Markdown({ text }: { text: string }) {
  return <div>{text}</div>;
}
