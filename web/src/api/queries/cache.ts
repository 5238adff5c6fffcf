/** The cache of server responses. `live` keeps it current by events, so nothing is polled. */
import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../client";

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      // The server often runs on this machine and can be reached without a network.
      networkMode: "always",
      retry: (count, error) => error instanceof ApiError && error.code === "offline" && count < 3,
    },
  },
});

/** The page size for lists that are expected to fit on one page. */
export const FULL_LIST_LIMIT = 500;
