/** Queries for repositories, worktrees and boards. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { type FinishBody, finishWork } from "@/api/actions";
import { api, dataOf } from "@/api/client";
import type { Overlap, WorktreeProgress } from "@/api/types";
import { FULL_LIST_LIMIT } from "./cache";

export const reposQuery = queryOptions({
  queryKey: ["repos"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/repos", { params: { query: { limit: FULL_LIST_LIMIT } } }))).repos,
});
export const useRepos = () => useQuery(reposQuery);

export const useRepoGit = (repoId: string, enabled: boolean) =>
  useQuery({
    queryKey: ["repoGit", repoId],
    queryFn: () => dataOf(api.GET("/api/repos/{repoId}/git", { params: { path: { repoId } } })),
    enabled,
  });

/** What a repository's own files say, or those of one of its worktrees. */
export const useRepoConfig = (repoId: string, worktreeId: string | null, enabled: boolean) =>
  useQuery({
    queryKey: ["repoConfig", repoId, worktreeId],
    queryFn: () =>
      dataOf(
        api.GET("/api/repos/{repoId}/config", {
          params: { path: { repoId }, query: { worktreeId: worktreeId ?? undefined } },
        }),
      ),
    enabled,
    staleTime: 0,
  });

export const worktreesQuery = queryOptions({
  queryKey: ["worktrees"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/worktrees", { params: { query: { limit: FULL_LIST_LIMIT } } }))).worktrees,
});
export const useWorktrees = () => useQuery(worktreesQuery);

export const worktreeDiffQuery = (worktreeId: string) =>
  queryOptions({
    queryKey: ["worktreeDiff", worktreeId],
    queryFn: () =>
      dataOf(api.GET("/api/worktrees/{worktreeId}/diff", { params: { path: { worktreeId }, query: {} } })),
    staleTime: 0,
  });

export const boardsQuery = queryOptions({
  queryKey: ["boards"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/boards", { params: { query: { limit: FULL_LIST_LIMIT } } }))).boards,
});
export const useBoards = () => useQuery(boardsQuery);

/** All cards of a board, page by page if there are many. */
export const cardsQuery = (boardId: string, archived: boolean) =>
  queryOptions({
    queryKey: ["cards", boardId, archived],
    queryFn: async () => {
      const page = (offset: number) =>
        dataOf(
          api.GET("/api/boards/{boardId}/cards", {
            params: { path: { boardId }, query: { archived, limit: FULL_LIST_LIMIT, offset } },
          }),
        );
      const { cards, total } = await page(0);
      while (cards.length < total) {
        const more = (await page(cards.length)).cards;
        if (!more.length) break;
        cards.push(...more);
      }
      return cards;
    },
  });

/** A worktree with its git status and its sessions. */
export const worktreeQuery = (worktreeId: string) =>
  queryOptions({
    queryKey: ["worktree", worktreeId],
    queryFn: () => dataOf(api.GET("/api/worktrees/{worktreeId}", { params: { path: { worktreeId } } })),
    staleTime: 10_000,
  });

/** The path of a worktree to create, and its problems. Not cached, since it changes with the disk. */
export const previewQuery = (repoId: string, branch: string, path: string, base: string) =>
  queryOptions({
    queryKey: ["preview", repoId, branch, path, base],
    queryFn: () =>
      dataOf(
        api.GET("/api/worktrees/preview", {
          params: { query: { repoId, branch, path: path || undefined, base: base || undefined } },
        }),
      ),
    staleTime: 0,
    gcTime: 30_000,
  });

/** The work that would be lost if a session's worktree were removed with it. */
export const lossesQuery = (worktreeId: string, sessionId?: string) =>
  queryOptions({
    queryKey: ["losses", worktreeId, sessionId],
    queryFn: () =>
      dataOf(
        api.GET("/api/worktrees/{worktreeId}/losses", {
          params: { path: { worktreeId }, query: { sessionId } },
        }),
      ),
    staleTime: 0,
  });

const NO_OVERLAPS: Overlap[] = [];
/** The overlaps of all worktrees, in one request for a whole board. The server compares files in the background. */
export const overlapsQuery = queryOptions({
  queryKey: ["overlaps"],
  queryFn: () => dataOf(api.GET("/api/worktrees/overlaps")),
  refetchInterval: (query) => (query.state.data?.pending ? 3_000 : 30_000),
  retry: false,
});
/** The other worktrees that changed the same files as this one. */
export const useOverlaps = (worktreeId: string | undefined) =>
  useQuery({
    ...overlapsQuery,
    enabled: worktreeId !== undefined,
    select: (list) => list.worktrees.find((item) => item.worktreeId === worktreeId)?.overlaps ?? NO_OVERLAPS,
  }).data ?? NO_OVERLAPS;

const NO_PROGRESS: WorktreeProgress[] = [];
/** How many files each worktree changed, and whether its work is merged. The server looks in the background. */
export const useProgress = () =>
  useQuery({
    queryKey: ["progress"],
    queryFn: () => dataOf(api.GET("/api/worktrees/progress")),
    refetchInterval: (query) => (query.state.data?.pending ? 3_000 : 20_000),
    retry: false,
  }).data?.worktrees ?? NO_PROGRESS;

/** The pull requests of all worktrees, in one request for a whole board; events about worktrees refresh it. */
export const checksQuery = queryOptions({
  queryKey: ["checks"],
  queryFn: async () => (await dataOf(api.GET("/api/worktrees/checks"))).requests,
  retry: false,
});
/** The pull request of a worktree with each check and thread, which the list leaves out. */
export const requestQuery = (worktreeId: string) =>
  queryOptions({
    queryKey: ["checks", worktreeId],
    queryFn: () =>
      dataOf(api.GET("/api/worktrees/{worktreeId}/checks", { params: { path: { worktreeId } } })),
    retry: false,
  });
/** How the checks of a worktree's pull request are; undefined if none is known. */
export const useChecks = (worktreeId: string | undefined) =>
  useQuery({
    ...checksQuery,
    enabled: worktreeId !== undefined,
    select: (requests) => requests.find((request) => request.worktreeId === worktreeId),
  }).data;

/** How far the work in a worktree is from being finished. */
export const finishQuery = (worktreeId: string) =>
  queryOptions({
    queryKey: ["finish", worktreeId],
    queryFn: () =>
      dataOf(api.GET("/api/worktrees/{worktreeId}/finish", { params: { path: { worktreeId } } })),
    retry: false,
  });

/** What a step would do, or why it would be refused. Not cached, since it changes with the disk. */
export const finishPreviewQuery = (worktreeId: string, request: FinishBody) =>
  queryOptions({
    queryKey: ["finishPreview", worktreeId, request],
    queryFn: () => finishWork(worktreeId, request, true),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });

/** The disk use of worktrees and repositories. The server measures in the background when somebody looks. */
export const diskQuery = queryOptions({
  queryKey: ["disk"],
  queryFn: () => dataOf(api.GET("/api/worktrees/disk")),
  refetchInterval: (query) => (query.state.data?.pending ? 2_000 : 60_000),
});
