/** Code with colours. */
export function Code({ text }: { text: string; language?: string }) {
  return <pre>{text}</pre>;
}
