export default function Session({ sessionId }: { sessionId: string }) {
  return <h1>{sessionId}</h1>;
}
