/** Queries for reviews: changed files of a worktree, session or task, and comments on them. */
import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "../client";

export type ReviewKind = "worktree" | "session" | "task";

/** A review. Files may change without an event, so it is fetched each time it is shown and when the window gets focus. */
export const reviewQuery = (kind: ReviewKind, subjectId: string) =>
  queryOptions({
    queryKey: ["review", kind, subjectId],
    queryFn: () =>
      dataOf(api.GET("/api/reviews/{kind}/{subjectId}", { params: { path: { kind, subjectId } } })),
    staleTime: 0,
    refetchOnWindowFocus: "always",
  });

/** The change of one file. Its version is part of the key, so a changed file is fetched again. */
export const reviewFileQuery = (
  kind: ReviewKind,
  subjectId: string,
  path: string,
  hash: string,
  whole: boolean,
) =>
  queryOptions({
    queryKey: ["reviewFile", kind, subjectId, path, hash, whole],
    queryFn: () =>
      dataOf(
        api.GET("/api/reviews/{kind}/{subjectId}/file", {
          params: { path: { kind, subjectId }, query: { path, whole } },
        }),
      ),
    gcTime: 60_000,
  });

/** The comments of a review, without its files. */
export const reviewCommentsQuery = (kind: ReviewKind, subjectId: string) =>
  queryOptions({
    queryKey: ["reviewComments", kind, subjectId],
    queryFn: () =>
      dataOf(api.GET("/api/reviews/{kind}/{subjectId}/comments", { params: { path: { kind, subjectId } } })),
  });
