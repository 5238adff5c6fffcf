/** Queries for open terminals. */
import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "../client";

/** Where a terminal is opened: in a worktree, or where a session works. */
export type TerminalPlace = { worktreeId: string } | { sessionId: string };

export const terminalsQuery = (place: TerminalPlace) =>
  queryOptions({
    queryKey: ["terminals", place],
    queryFn: async () => (await dataOf(api.GET("/api/terminals", { params: { query: place } }))).terminals,
  });
