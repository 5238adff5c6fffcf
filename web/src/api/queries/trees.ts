/** Queries for trees: sessions, reports and races. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../client";
import { FULL_LIST_LIMIT } from "./cache";

export const treeQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["tree", sessionId],
    queryFn: () => dataOf(api.GET("/api/sessions/{sessionId}/tree", { params: { path: { sessionId } } })),
  });
export const useTree = (sessionId: string) => useQuery(treeQuery(sessionId));

/** The reports to and from one session. */
export const callbacksQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["callbacks", sessionId],
    queryFn: async () =>
      (await dataOf(
        api.GET("/api/sessions/{sessionId}/callbacks", {
          params: { path: { sessionId }, query: { limit: 100 } },
        }),
      ))!.callbacks,
  });

export const racesQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["races", sessionId],
    queryFn: async () =>
      (await dataOf(
        api.GET("/api/sessions/{sessionId}/races", {
          params: { path: { sessionId }, query: { limit: FULL_LIST_LIMIT } },
        }),
      ))!.races,
  });
export const useRaces = (sessionId: string) => useQuery(racesQuery(sessionId));

export const raceQuery = (raceId: string) =>
  queryOptions({
    queryKey: ["race", raceId],
    queryFn: () => dataOf(api.GET("/api/races/{raceId}", { params: { path: { raceId } } })),
  });
export const useRace = (raceId: string) => useQuery(raceQuery(raceId));

/** The changes of a racer; fetched again when its tasks change, but not when it is archived, since its worktree is then
 * being removed. */
export const raceDiffQuery = (raceId: string, session: string) =>
  queryOptions({
    queryKey: ["raceDiff", session, raceId],
    queryFn: () =>
      dataOf(api.GET("/api/races/{raceId}/diff", { params: { path: { raceId }, query: { session } } })),
  });
