/** What is asked across all sessions: the start page and the search. */
import { infiniteQueryOptions, keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { api, got } from "../client";
import type { operations } from "../schema";

/** How many minutes this person's clock is ahead of UTC: when today began. */
const aheadOfUtc = () => -new Date().getTimezoneOffset();

export const homeQuery = (tz = aheadOfUtc()) =>
  queryOptions({
    queryKey: ["home", tz],
    queryFn: () => got(api.GET("/api/home", { params: { query: { tz } } })),
  });
export const useHome = () => useQuery(homeQuery());

const HITS = 20;

/** Pages of a search. What it found is kept while it is looked at, and asked for anew when one comes back to it. */
export const searchQuery = (wanted: operations["ApiSearchSearch"]["parameters"]["query"]) =>
  infiniteQueryOptions({
    queryKey: ["search", wanted],
    queryFn: ({ pageParam }) =>
      got(api.GET("/api/search", { params: { query: { ...wanted, limit: HITS, offset: pageParam } } })),
    initialPageParam: 0,
    getNextPageParam: (last) => (last.results.length < HITS ? undefined : last.offset + HITS),
    staleTime: 5000,
    placeholderData: keepPreviousData,
  });
