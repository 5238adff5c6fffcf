/** Queries for repositories that can be added: found ones, folders to choose from, and clones. */
import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "../client";

/** The git repositories below the workspace root. No event reports new ones on the disk, so each visit looks again. */
export const foundReposQuery = queryOptions({
  queryKey: ["foundRepos"],
  queryFn: () => dataOf(api.GET("/api/workspace/repos")),
  staleTime: 0,
});

/** The folders in a folder; in the workspace root if there is no path. */
export const foldersQuery = (path: string | null) =>
  queryOptions({
    queryKey: ["folders", path],
    queryFn: () =>
      dataOf(api.GET("/api/workspace/folders", { params: { query: { path: path ?? undefined } } })),
    staleTime: 0,
    retry: false,
  });

/** The clones under way and the last that ended, newest first. Events refresh them. */
export const clonesQuery = queryOptions({
  queryKey: ["clones"],
  queryFn: async () => (await dataOf(api.GET("/api/clones"))).clones,
});
