export default function Tree() {
  return <h1>Tree</h1>;
}
