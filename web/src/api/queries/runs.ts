/** Queries for commands that run in worktrees. Events refresh them. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../client";
import type { Run } from "../types";

export const runsQuery = queryOptions({
  queryKey: ["runs"],
  queryFn: async () => (await dataOf(api.GET("/api/runs"))).runs,
});

const NO_RUNS: Run[] = [];
/** What runs in a worktree and what ran there last, oldest first; from one request for all worktrees. */
export const useRuns = (worktreeId: string | undefined) =>
  useQuery({
    ...runsQuery,
    enabled: worktreeId !== undefined,
    select: (runs) => runs.filter((run) => run.worktreeId === worktreeId),
  }).data ?? NO_RUNS;

/** The end of a run's log, again and again while it runs. No event reports what a command prints. */
export const useRunLog = (run: Run) =>
  useQuery({
    queryKey: ["runLog", run.id, run.state],
    queryFn: () => dataOf(api.GET("/api/runs/{runId}/log", { params: { path: { runId: run.id } } })),
    refetchInterval: run.state === "running" ? 1_000 : false,
    staleTime: 0,
  });
