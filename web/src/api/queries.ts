/** What is asked of the server and kept: one key and one hook for each question. `live/apply` keeps the answers current,
 * so nothing here asks again by the clock. */
import {
  infiniteQueryOptions,
  keepPreviousData,
  QueryClient,
  queryOptions,
  useQuery,
} from "@tanstack/react-query";
import { ApiError, api, got } from "./client";
import type { operations } from "./schema";
import type { Message } from "./types";

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

/** The newest sessions, for choosing one by name. */
export const sessionsQuery = queryOptions({
  queryKey: ["sessions", "newest"],
  queryFn: async () =>
    (await got(api.GET("/api/sessions", { params: { query: { archived: false, limit: 100 } } }))).sessions,
});

export const rulesQuery = queryOptions({
  queryKey: ["rules"],
  queryFn: async () => (await got(api.GET("/api/policy/rules", { params: { query: { limit: 500 } } }))).rules,
});
export const useRules = () => useQuery(rulesQuery);

export const choicesQuery = queryOptions({
  queryKey: ["choices"],
  queryFn: async () =>
    (await got(api.GET("/api/policy/choices", { params: { query: { limit: 500 } } }))).choices,
});
export const useChoices = () => useQuery(choicesQuery);

export const serverSettingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: async () => (await got(api.GET("/api/settings"))).settings,
});
export const useServerSettings = () => useQuery(serverSettingsQuery);

/** Reports to some sessions of a tree and from them; asked for one by one, as they belong to a session each. */
export const callbacksQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["callbacks", sessionId],
    queryFn: async () =>
      (await got(
        api.GET("/api/sessions/{sessionId}/callbacks", {
          params: { path: { sessionId }, query: { limit: 100 } },
        }),
      ))!.callbacks,
  });

export const racesQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["races", sessionId],
    queryFn: async () =>
      (await got(
        api.GET("/api/sessions/{sessionId}/races", {
          params: { path: { sessionId }, query: { limit: MOST } },
        }),
      ))!.races,
  });
export const useRaces = (sessionId: string) => useQuery(racesQuery(sessionId));

export const raceQuery = (raceId: string) =>
  queryOptions({
    queryKey: ["race", raceId],
    queryFn: () => got(api.GET("/api/races/{raceId}", { params: { path: { raceId } } })),
  });
export const useRace = (raceId: string) => useQuery(raceQuery(raceId));

/** What a contender has changed; asked for again when its race is. */
export const raceDiffQuery = (raceId: string, session: string) =>
  queryOptions({
    queryKey: ["race", raceId, "diff", session],
    queryFn: () =>
      got(api.GET("/api/races/{raceId}/diff", { params: { path: { raceId }, query: { session } } })),
  });

export const worktreeDiffQuery = (worktreeId: string) =>
  queryOptions({
    queryKey: ["worktreeDiff", worktreeId],
    queryFn: () =>
      got(api.GET("/api/worktrees/{worktreeId}/diff", { params: { path: { worktreeId }, query: {} } })),
    staleTime: 0,
  });

export const worktreeLossesQuery = (worktreeId: string) =>
  queryOptions({
    queryKey: ["losses", worktreeId],
    queryFn: () =>
      got(api.GET("/api/worktrees/{worktreeId}/losses", { params: { path: { worktreeId }, query: {} } })),
    staleTime: 0,
  });

export const boardsQuery = queryOptions({
  queryKey: ["boards"],
  queryFn: async () => (await got(api.GET("/api/boards", { params: { query: { limit: MOST } } }))).boards,
});
export const useBoards = () => useQuery(boardsQuery);

/** All cards of a board, page by page if there are many. */
export const cardsQuery = (boardId: string, archived: boolean) =>
  queryOptions({
    queryKey: ["cards", boardId, archived],
    queryFn: async () => {
      const page = (offset: number) =>
        got(
          api.GET("/api/boards/{boardId}/cards", {
            params: { path: { boardId }, query: { archived, limit: MOST, offset } },
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

/** What a session has changed in its folder. Asked anew when another turn is over (`after`), not at every event. */
export const sessionDiffQuery = (sessionId: string, after: string | null = null) =>
  queryOptions({
    queryKey: ["sessionDiff", sessionId, after],
    queryFn: () => got(api.GET("/api/sessions/{sessionId}/diff", { params: { path: { sessionId } } })),
  });
export const useSessionDiff = (sessionId: string, after: string | null) =>
  useQuery({ ...sessionDiffQuery(sessionId, after), placeholderData: (known) => known });

export const budgetQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["budget", sessionId],
    queryFn: () => got(api.GET("/api/sessions/{sessionId}/budget", { params: { path: { sessionId } } })),
  });
export const useBudget = (sessionId: string) => useQuery(budgetQuery(sessionId));

/** How many minutes this person's clock is ahead of UTC: when today began. */
const aheadOfUtc = () => -new Date().getTimezoneOffset();

export const homeQuery = (tz = aheadOfUtc()) =>
  queryOptions({
    queryKey: ["home", tz],
    queryFn: () => got(api.GET("/api/home", { params: { query: { tz } } })),
  });
export const useHome = () => useQuery(homeQuery());

/** A question by its id, also one that was answered. */
export const approvalQuery = (approvalId: string) =>
  queryOptions({
    queryKey: ["approval", approvalId],
    queryFn: () => got(api.GET("/api/approvals/{approvalId}", { params: { path: { approvalId } } })),
    staleTime: 0,
  });

/** A worktree with how it stands in git and who works there. */
export const worktreeQuery = (worktreeId: string) =>
  queryOptions({
    queryKey: ["worktree", worktreeId],
    queryFn: () => got(api.GET("/api/worktrees/{worktreeId}", { params: { path: { worktreeId } } })),
    staleTime: 10_000,
  });

/** Who works in a repository, in whichever of its folders. */
export const activeInRepoQuery = (repoId: string) =>
  queryOptions({
    queryKey: ["sessions", "active", repoId],
    queryFn: async () =>
      (await got(
        api.GET("/api/sessions", {
          params: { query: { repoId, status: "active", archived: false, limit: MOST } },
        }),
      ))!.sessions,
  });

/** Where a worktree would go, and what stands in the way. It changes with the disk, so it is not kept. */
export const previewQuery = (repoId: string, branch: string, path: string, base: string) =>
  queryOptions({
    queryKey: ["preview", repoId, branch, path, base],
    queryFn: () =>
      got(
        api.GET("/api/worktrees/preview", {
          params: { query: { repoId, branch, path: path || undefined, base: base || undefined } },
        }),
      ),
    staleTime: 0,
    gcTime: 30_000,
  });

/** What would be lost with a worktree when this session goes with it. */
export const lossesQuery = (worktreeId: string, sessionId: string) =>
  queryOptions({
    queryKey: ["losses", worktreeId, sessionId],
    queryFn: () =>
      got(
        api.GET("/api/worktrees/{worktreeId}/losses", {
          params: { path: { worktreeId }, query: { sessionId } },
        }),
      ),
    staleTime: 0,
  });

const HITS = 20;

/** Pages of a search. What it found is kept while it is looked at, and asked for anew when one comes back to it. */
export const searchQuery = (wanted: operations["ApiSearchSearch"]["parameters"]["query"]) =>
  infiniteQueryOptions({
    queryKey: ["search", wanted],
    queryFn: ({ pageParam }) =>
      got(api.GET("/api/search", { params: { query: { ...wanted, limit: HITS, offset: pageParam } } })),
    initialPageParam: 0,
    getNextPageParam: (last) => (last.results.length < HITS ? undefined : last.offset + HITS),
    staleTime: 5000,
    placeholderData: keepPreviousData,
  });

export const taskQuery = (taskId: string) =>
  queryOptions({
    queryKey: ["task", taskId],
    queryFn: () => got(api.GET("/api/tasks/{taskId}", { params: { path: { taskId } } })),
  });

/** What a task has changed in the files. Asked for anew each time it is looked at: a task at work changes more. */
export const taskDiffQuery = (taskId: string, stat = false) =>
  queryOptions({
    queryKey: ["taskDiff", taskId, stat],
    staleTime: 0,
    queryFn: () =>
      got(api.GET("/api/tasks/{taskId}/diff", { params: { path: { taskId }, query: { stat } } })),
  });

/** The last thing an agent has said in a session; `after` is when it was last active. */
export const lastWordsQuery = (sessionId: string, after: string) =>
  queryOptions({
    queryKey: ["lastWords", sessionId, after],
    queryFn: async () => {
      const said = (await got(
        api.GET("/api/sessions/{sessionId}/messages", {
          params: { path: { sessionId }, query: { limit: 8 } },
        }),
      )) as { role: string; content: { type: string; text?: string } }[];
      const last = said.findLast((one) => one.role === "agent" && one.content.type === "text");
      return last?.content.text ?? "";
    },
  });

/** What the agent of a session said last; nothing if it has not spoken. */
export const spokenLastQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["words", sessionId],
    queryFn: async () => {
      const messages = (await got(
        api.GET("/api/sessions/{sessionId}/messages", {
          params: { path: { sessionId }, query: { limit: 30 } },
        }),
      )) as Message[];
      const said = messages.findLast((one) => one.role === "agent" && one.content.type === "text");
      return said?.content.text ?? "";
    },
  });
