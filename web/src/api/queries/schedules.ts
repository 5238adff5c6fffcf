/** Queries for schedules and the history of their runs. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../client";
import { FULL_LIST_LIMIT } from "./cache";

export const schedulesQuery = queryOptions({
  queryKey: ["schedules"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/schedules", { params: { query: { limit: FULL_LIST_LIMIT } } }))).schedules,
});
export const useSchedules = () => useQuery(schedulesQuery);

export const scheduleRunsQuery = (scheduleId: string) =>
  queryOptions({
    queryKey: ["scheduleRuns", scheduleId],
    queryFn: async () =>
      (
        await dataOf(
          api.GET("/api/schedules/{scheduleId}/runs", {
            params: { path: { scheduleId }, query: { limit: 20 } },
          }),
        )
      ).runs,
  });
export const useScheduleRuns = (scheduleId: string) => useQuery(scheduleRunsQuery(scheduleId));
