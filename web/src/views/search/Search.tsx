/** Search through all transcripts, tool output and titles. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { Search as SearchIcon, SearchX } from "lucide-react";
import { useEffect, useState } from "react";
import { useSearchParams } from "wouter";
import { searchQuery } from "@/api/queries";
import { useTitle } from "@/app/title";
import { plural } from "@/lib/format";
import { Button } from "@/ui/controls/Button";
import { Input } from "@/ui/controls/Field";
import { Empty, Problem, Skeleton } from "@/ui/feedback/Placeholders";
import list from "@/ui/layout/listView.module.css";
import css from "./Search.module.css";
import { SearchFilters } from "./SearchFilters";
import { SearchResult } from "./SearchResult";
import { readSearchParams, type SearchParams, searchRequest, toUrlParams } from "./searchParams";

/** Long enough that a word is not searched letter by letter. */
const PAUSE = 250;

export default function Search() {
  const [params, setParams] = useSearchParams();
  const search = readSearchParams(params);
  const [words, setWords] = useState(search.q);
  useTitle(search.q ? `“${search.q}” · Search` : "Search");
  // The address can change from outside: by the palette, or by going back.
  useEffect(() => setWords(search.q), [search.q]);
  const update = (next: SearchParams) => setParams(toUrlParams(next), { replace: true });
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the timer
  useEffect(() => {
    if (words.trim() === search.q) return;
    const timer = setTimeout(() => update({ ...search, q: words }), PAUSE);
    return () => clearTimeout(timer);
  }, [words]);
  return (
    <div className={list.view}>
      <h1>Search</h1>
      <search>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            update({ ...search, q: words });
          }}
        >
          <Input
            type="search"
            aria-label="Search transcripts"
            value={words}
            onChange={(event) => setWords(event.target.value)}
            placeholder={'words, "a phrase", -exclude, prefix*'}
            autoFocus
            className={css.input}
          />
          <SearchFilters params={search} onChange={update} />
        </form>
      </search>
      {search.q ? (
        <Results search={search} />
      ) : (
        <Empty icon={<SearchIcon />} title="Search all sessions">
          Finds prompts, answers, thoughts, commands and their output, edits, reports and titles, also while
          they stream.
        </Empty>
      )}
    </div>
  );
}

function Results({ search }: { search: SearchParams }) {
  const results = useInfiniteQuery(searchQuery(searchRequest(search)));
  if (results.error && !results.data)
    return <Problem error={results.error} retry={() => void results.refetch()} />;
  if (!results.data) return <Skeleton lines={5} block />;
  const { total, totalCapped, indexing } = results.data.pages[0]!;
  const hits = results.data.pages.flatMap((page) => page.results);
  if (!hits.length)
    return (
      <Empty icon={<SearchX />} title="No results">
        {indexing ? "Older texts are still being indexed. Try again later." : "Try fewer words or filters."}
      </Empty>
    );
  return (
    <section aria-label="Results" aria-busy={results.isFetching}>
      <p className={list.count} role="status">
        {totalCapped ? `More than ${total} results` : plural(total, "result")}
        {indexing && ". Older texts are still being indexed."}
      </p>
      <ol className={css.hits}>
        {hits.map((hit) => (
          <li key={hit.messageId ?? hit.sessionId}>
            <SearchResult hit={hit} />
          </li>
        ))}
      </ol>
      {results.hasNextPage && (
        <Button busy={results.isFetchingNextPage} onClick={() => void results.fetchNextPage()}>
          Show more
        </Button>
      )}
    </section>
  );
}
