/** What is asked of the server and kept: one key and one hook for each question. `live/apply` keeps the answers current,
 * so nothing here asks again by the clock. */
import { QueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import { ApiError, api, got } from "./client";

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      retry: (count, error) => error instanceof ApiError && error.code === "offline" && count < 3,
    },
  },
});

const MOST = 500;

export const sessionQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["session", sessionId],
    queryFn: () =>
      got(
        api.GET("/api/sessions/{sessionId}", { params: { path: { sessionId }, query: { messages: false } } }),
      ),
  });
export const useSession = (sessionId: string) => useQuery(sessionQuery(sessionId));

/** All tasks of a session that are not over, and the newest of those that are. */
export const tasksQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["tasks", sessionId],
    queryFn: async () =>
      (await got(
        api.GET("/api/sessions/{sessionId}/tasks", {
          params: { path: { sessionId }, query: { limit: MOST } },
        }),
      ))!.tasks,
  });
export const useTasks = (sessionId: string) => useQuery(tasksQuery(sessionId));

export const approvalsQuery = queryOptions({
  queryKey: ["approvals"],
  queryFn: async () =>
    (await got(api.GET("/api/approvals", { params: { query: { status: "pending", limit: MOST } } })))
      .approvals,
});
export const useApprovals = () => useQuery(approvalsQuery);

export const treeQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["tree", sessionId],
    queryFn: () => got(api.GET("/api/sessions/{sessionId}/tree", { params: { path: { sessionId } } })),
  });
export const useTree = (sessionId: string) => useQuery(treeQuery(sessionId));

export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: async () => (await got(api.GET("/api/agents"))).agents,
});
export const useAgents = () => useQuery(agentsQuery);

export const reposQuery = queryOptions({
  queryKey: ["repos"],
  queryFn: async () => (await got(api.GET("/api/repos", { params: { query: { limit: MOST } } }))).repos,
});
export const useRepos = () => useQuery(reposQuery);

export const worktreesQuery = queryOptions({
  queryKey: ["worktrees"],
  queryFn: async () =>
    (await got(api.GET("/api/worktrees", { params: { query: { limit: MOST } } }))).worktrees,
});
export const useWorktrees = () => useQuery(worktreesQuery);

export const mcpServersQuery = queryOptions({
  queryKey: ["mcpServers"],
  queryFn: async () =>
    (await got(api.GET("/api/mcp-servers", { params: { query: { limit: MOST } } }))).mcpServers,
});
export const useMcpServers = () => useQuery(mcpServersQuery);
