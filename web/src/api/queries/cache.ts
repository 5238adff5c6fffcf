/** Where answers of the server are kept. `live/apply` keeps them current, so nothing is asked again by the clock. */
import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../client";

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      // The server is mostly on this very machine: it can be reached without any network.
      networkMode: "always",
      retry: (count, error) => error instanceof ApiError && error.code === "offline" && count < 3,
    },
  },
});

/** More than anybody has; what may be more is paged. */
export const MOST = 500;
