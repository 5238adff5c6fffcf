/** Queries for agents, MCP servers, tokens, files and server settings. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf, fetchFile } from "../client";
import { FULL_LIST_LIMIT } from "./cache";

export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: async () => (await dataOf(api.GET("/api/agents"))).agents,
});
export const useAgents = () => useQuery(agentsQuery);

export const mcpServersQuery = queryOptions({
  queryKey: ["mcpServers"],
  queryFn: async () =>
    (await dataOf(api.GET("/api/mcp-servers", { params: { query: { limit: FULL_LIST_LIMIT } } }))).mcpServers,
});
export const useMcpServers = () => useQuery(mcpServersQuery);

/** No event reports a sign-in, so the list is fetched each time it is shown. */
export const tokensQuery = queryOptions({
  queryKey: ["tokens"],
  staleTime: 0,
  queryFn: async () => (await dataOf(api.GET("/api/tokens"))).tokens,
});
export const useTokens = () => useQuery(tokensQuery);

export const fileQuery = (fileId: string) =>
  queryOptions({ queryKey: ["file", fileId], queryFn: () => fetchFile(`/api/files/${fileId}`) });

export const serverSettingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: async () => (await dataOf(api.GET("/api/settings"))).settings,
});
export const useServerSettings = () => useQuery(serverSettingsQuery);
