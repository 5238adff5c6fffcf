/** Queries for sessions and their tasks. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../client";
import type { Message } from "../types";
import { FULL_LIST_LIMIT } from "./cache";

export const sessionQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["session", sessionId],
    queryFn: () =>
      dataOf(
        api.GET("/api/sessions/{sessionId}", { params: { path: { sessionId }, query: { messages: false } } }),
      ),
  });
export const useSession = (sessionId: string) => useQuery(sessionQuery(sessionId));

const OPEN = "queued,dispatching,running,waiting_permission,stopping,interrupted";

/** Fetches some tasks of a session, oldest first. */
const someTasks = async (sessionId: string, query: { status?: string; offset?: number }) =>
  (await dataOf(
    api.GET("/api/sessions/{sessionId}/tasks", {
      params: { path: { sessionId }, query: { ...query, limit: FULL_LIST_LIMIT } },
    }),
  ))!;

/** All unfinished tasks of a session, and the newest finished ones. */
export const tasksQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["tasks", sessionId],
    queryFn: async () => {
      const { tasks, total } = await someTasks(sessionId, {});
      if (total <= tasks.length) return tasks;
      const [open, newest] = await Promise.all([
        someTasks(sessionId, { status: OPEN }),
        someTasks(sessionId, { offset: total - FULL_LIST_LIMIT }),
      ]);
      const known = new Map([...open.tasks, ...newest.tasks].map((task) => [task.id, task]));
      return [...known.values()].sort((a, b) => a.position - b.position);
    },
  });
export const useTasks = (sessionId: string) => useQuery(tasksQuery(sessionId));

/** The newest sessions, to choose one by name. */
export const sessionsQuery = queryOptions({
  queryKey: ["sessions", "newest"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/sessions", { params: { query: { archived: false, limit: 100 } } }))).sessions,
});

/** The changes of a session in its folder. Fetched again when its tasks change and when another turn ends (`after`). */
export const sessionDiffQuery = (sessionId: string, after: string | null = null) =>
  queryOptions({
    queryKey: ["sessionDiff", sessionId, after],
    queryFn: () => dataOf(api.GET("/api/sessions/{sessionId}/diff", { params: { path: { sessionId } } })),
  });

export const useSessionDiff = (sessionId: string, after: string | null) =>
  useQuery({ ...sessionDiffQuery(sessionId, after), placeholderData: (known) => known });

export const budgetQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["budget", sessionId],
    queryFn: () => dataOf(api.GET("/api/sessions/{sessionId}/budget", { params: { path: { sessionId } } })),
  });
export const useBudget = (sessionId: string) => useQuery(budgetQuery(sessionId));

/** The size of a session's transcript and its limit. It grows without events, so it is fetched each time it is shown. */
export const transcriptSizeQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["transcriptSize", sessionId],
    queryFn: () =>
      dataOf(api.GET("/api/sessions/{sessionId}/transcript", { params: { path: { sessionId } } })),
    staleTime: 0,
  });
export const useTranscriptSize = (sessionId: string) => useQuery(transcriptSizeQuery(sessionId));

/** The active sessions of a repository, in all of its folders. */
export const activeInRepoQuery = (repoId: string) =>
  queryOptions({
    queryKey: ["sessions", "active", repoId],
    queryFn: async () =>
      (await dataOf(
        api.GET("/api/sessions", {
          params: { query: { repoId, status: "active", archived: false, limit: FULL_LIST_LIMIT } },
        }),
      ))!.sessions,
  });

export const taskQuery = (taskId: string) =>
  queryOptions({
    queryKey: ["task", taskId],
    queryFn: () => dataOf(api.GET("/api/tasks/{taskId}", { params: { path: { taskId } } })),
  });

/** The changes of a task. Fetched each time it is shown, since a running task changes more. */
export const taskDiffQuery = (taskId: string, stat = false) =>
  queryOptions({
    queryKey: ["taskDiff", taskId, stat],
    staleTime: 0,
    queryFn: () =>
      dataOf(api.GET("/api/tasks/{taskId}/diff", { params: { path: { taskId }, query: { stat } } })),
  });

/** The agent's last text in a session, or an empty string. Fetched again when `after` changes. */
export const lastTextQuery = (sessionId: string, after: string | null = null) =>
  queryOptions({
    queryKey: ["words", sessionId, after],
    queryFn: async () => {
      const messages = (await dataOf(
        api.GET("/api/sessions/{sessionId}/messages", {
          params: { path: { sessionId }, query: { limit: 30 } },
        }),
      )) as Message[];
      const last = messages.findLast(
        (message) => message.role === "agent" && message.content.type === "text",
      );
      return last?.content.text ?? "";
    },
  });
