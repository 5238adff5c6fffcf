/** Queries for agents, MCP servers and server settings. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, dataOf } from "../client";
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

export const serverSettingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: async () => (await dataOf(api.GET("/api/settings"))).settings,
});
export const useServerSettings = () => useQuery(serverSettingsQuery);
