/** A tree as an indented list, for the side of a session. */
export function TreeList({ sessionId }: { sessionId: string }) {
  return <nav>{sessionId}</nav>;
}
