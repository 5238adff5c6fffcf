/** Queries for agents, MCP servers and server settings. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, got } from "../client";
import { MOST } from "./cache";

export const agentsQuery = queryOptions({
  queryKey: ["agents"],
  queryFn: async () => (await got(api.GET("/api/agents"))).agents,
});
export const useAgents = () => useQuery(agentsQuery);

export const mcpServersQuery = queryOptions({
  queryKey: ["mcpServers"],
  queryFn: async () =>
    (await got(api.GET("/api/mcp-servers", { params: { query: { limit: MOST } } }))).mcpServers,
});
export const useMcpServers = () => useQuery(mcpServersQuery);

export const serverSettingsQuery = queryOptions({
  queryKey: ["settings"],
  queryFn: async () => (await got(api.GET("/api/settings"))).settings,
});
export const useServerSettings = () => useQuery(serverSettingsQuery);
