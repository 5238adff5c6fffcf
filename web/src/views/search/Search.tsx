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
import css from "./Search.module.css";
import { FilterBar } from "./SearchFilters";
import { Hit } from "./SearchResult";
import { query, read, type Wanted, write } from "./searchParams";

/** Long enough that a word is not searched letter by letter. */
const PAUSE = 250;

export default function Search() {
  const [params, setParams] = useSearchParams();
  const wanted = read(params);
  const [words, setWords] = useState(wanted.q);
  useTitle(wanted.q ? `“${wanted.q}” · Search` : "Search");
  // The address may change by itself: the palette, or the way back.
  useEffect(() => setWords(wanted.q), [wanted.q]);
  const ask = (next: Wanted) => setParams(write(next), { replace: true });
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the clock
  useEffect(() => {
    if (words.trim() === wanted.q) return;
    const timer = setTimeout(() => ask({ ...wanted, q: words }), PAUSE);
    return () => clearTimeout(timer);
  }, [words]);
  return (
    <div className={css.search}>
      <h1>Search</h1>
      <search>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            ask({ ...wanted, q: words });
          }}
        >
          <Input
            type="search"
            aria-label="Words"
            value={words}
            onChange={(event) => setWords(event.target.value)}
            placeholder={'Words, "a phrase", -without, begin*'}
            autoFocus
            className={css.input}
          />
          <FilterBar wanted={wanted} onChange={ask} />
        </form>
      </search>
      {wanted.q ? (
        <Results wanted={wanted} />
      ) : (
        <Empty icon={<SearchIcon />} title="Search everything that was said and done">
          Prompts, answers, thoughts, commands and their output, edits, reports of children, titles. What
          streams in is found within a second.
        </Empty>
      )}
    </div>
  );
}

function Results({ wanted }: { wanted: Wanted }) {
  const found = useInfiniteQuery(searchQuery(query(wanted)));
  if (found.error && !found.data) return <Problem error={found.error} retry={() => void found.refetch()} />;
  if (!found.data) return <Skeleton lines={5} block />;
  const { total, totalCapped, indexing } = found.data.pages[0]!;
  const hits = found.data.pages.flatMap((page) => page.results);
  if (!hits.length)
    return (
      <Empty icon={<SearchX />} title="Nothing was found">
        {indexing
          ? "Older texts are still being indexed; try again in a while."
          : "Fewer words or filters find more."}
      </Empty>
    );
  return (
    <section aria-label="Results" aria-busy={found.isFetching}>
      <p className={css.count} role="status">
        {totalCapped ? `More than ${total} places` : plural(total, "place")}
        {indexing && ". Older texts are still being indexed."}
      </p>
      <ol className={css.hits}>
        {hits.map((hit) => (
          <li key={hit.messageId ?? hit.sessionId}>
            <Hit hit={hit} />
          </li>
        ))}
      </ol>
      {found.hasNextPage && (
        <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Show more
        </Button>
      )}
    </section>
  );
}
