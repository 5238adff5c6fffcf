export default function Race() {
  return <h1>Race</h1>;
}
