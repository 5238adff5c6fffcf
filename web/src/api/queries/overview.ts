/** Queries across all sessions: the home page and search. */
import { infiniteQueryOptions, keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../client";
import type { operations } from "../schema";

/** Returns the minutes by which the local time is ahead of UTC; the server needs them to know when today began. */
const aheadOfUtc = () => -new Date().getTimezoneOffset();

export const homeQuery = (tz = aheadOfUtc()) =>
  queryOptions({
    queryKey: ["home", tz],
    queryFn: () => dataOf(api.GET("/api/home", { params: { query: { tz } } })),
  });
export const useHome = () => useQuery(homeQuery());

export const sidebarQuery = queryOptions({
  queryKey: ["sidebar"],
  queryFn: () => dataOf(api.GET("/api/sidebar")),
});
export const useSidebar = () => useQuery(sidebarQuery);

export const useUsage = (by: "day" | "agent" | "repo" | "tree", days: number) =>
  useQuery({
    queryKey: ["usage", by, days],
    queryFn: () =>
      dataOf(api.GET("/api/usage", { params: { query: { by, since: `${days}d`, tz: aheadOfUtc() } } })),
    placeholderData: (known) => (known?.by === by ? known : undefined),
  });

const HITS = 20;

/** Pages of search results. They stay while they are shown and are fetched again on the next visit. */
export const searchQuery = (item: operations["search"]["parameters"]["query"]) =>
  infiniteQueryOptions({
    queryKey: ["search", item],
    queryFn: ({ pageParam }) =>
      dataOf(api.GET("/api/search", { params: { query: { ...item, limit: HITS, offset: pageParam } } })),
    initialPageParam: 0,
    getNextPageParam: (last) => (last.results.length < HITS ? undefined : last.offset + HITS),
    staleTime: 5000,
    placeholderData: keepPreviousData,
  });
