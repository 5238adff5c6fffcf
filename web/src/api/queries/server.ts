/** Queries for agents, MCP servers, presets, people and their tokens, the audit trail, files and server settings. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf, fetchFile } from "../client";
import type { Role } from "../types";
import { FULL_LIST_LIMIT } from "./cache";

export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: async () => (await dataOf(api.GET("/api/agents"))).agents,
});
export const useAgents = () => useQuery(agentsQuery);

const CHECK_PAUSE = 1000;

/** What an agent offers, as far as known. With `ask`, the server also asks it, once per version. */
export function useAgentOffer(agent: string | null, ask = true) {
  const may = useMay("operator");
  return useQuery({
    queryKey: ["agentOffer", agent, ask && may],
    enabled: agent !== null,
    staleTime: 0,
    queryFn: async () => {
      const params = { path: { name: agent ?? "" } };
      return ask && may
        ? await dataOf(api.POST("/api/agents/{name}/offer", { params, body: { force: false } }))
        : await dataOf(api.GET("/api/agents/{name}/offer", { params }));
    },
    // No event reports what an agent offers.
    refetchInterval: (query) => (query.state.data?.checking ? CHECK_PAUSE : false),
  });
}

/** Has an agent asked again what it offers. */
export const askAgentAgain = async (agent: string) =>
  await dataOf(
    api.POST("/api/agents/{name}/offer", { params: { path: { name: agent } }, body: { force: true } }),
  );

/** Agents are started for this, and no event reports what they hold, so the list is asked for when it is shown. */
export const conversationsQuery = (agent: string) =>
  queryOptions({
    queryKey: ["conversations", agent],
    staleTime: 0,
    queryFn: async () => {
      const query = { limit: FULL_LIST_LIMIT, ...(agent && { agent }) };
      return await dataOf(api.GET("/api/conversations", { params: { query } }));
    },
  });

export const mcpServersQuery = queryOptions({
  queryKey: ["mcpServers"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/mcp-servers", { params: { query: { limit: FULL_LIST_LIMIT } } }))).mcpServers,
});
export const useMcpServers = () => useQuery(mcpServersQuery);

export const presetsQuery = queryOptions({
  queryKey: ["presets"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/presets", { params: { query: { limit: FULL_LIST_LIMIT } } }))).presets,
});
export const usePresets = () => useQuery(presetsQuery);

/** No event reports a sign-in, so the list is fetched each time it is shown. */
export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  staleTime: 0,
  queryFn: async () => (await dataOf(api.GET("/api/tokens"))).tokens,
});
export const useTokens = () => useQuery(tokensQuery);

/** The person who uses this page; the role says what to offer. */
export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: async () => await dataOf(api.GET("/api/me")),
});
export const useMe = () => useQuery(meQuery);

const ROLES: readonly Role[] = ["viewer", "operator", "admin"];

/** Whether the person who uses this page has a role; true until that is known, because most servers have one user. */
export function useMay(needed: Role): boolean {
  const role = useMe().data?.role;
  return role === undefined || ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** No event reports changes of users or the audit trail, so both are fetched each time they are shown. */
export const usersQuery = queryOptions({
  queryKey: ["users"],
  staleTime: 0,
  queryFn: async () => (await dataOf(api.GET("/api/users"))).users,
});
export const useUsers = () => useQuery(usersQuery);

export const useAudit = (query: { user?: string; action?: string; limit: number }) =>
  useQuery({
    queryKey: ["audit", query],
    staleTime: 0,
    queryFn: async () => await dataOf(api.GET("/api/audit", { params: { query } })),
  });

export const fileQuery = (fileId: string) =>
  queryOptions({ queryKey: ["file", fileId], queryFn: () => fetchFile(`/api/files/${fileId}`) });

export const serverSettingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: async () => (await dataOf(api.GET("/api/settings"))).settings,
});
export const useServerSettings = () => useQuery(serverSettingsQuery);
