export default function Search() {
  return <h1>Search</h1>;
}
