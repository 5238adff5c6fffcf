/** Queries for saved prompts. No event reports them, because they are one person's own; each change refetches them. */
import { queryOptions } from "@tanstack/react-query";
import { api, dataOf } from "../client";

export const savedPromptsQuery = queryOptions({
  queryKey: ["savedPrompts"],
  queryFn: async () => (await dataOf(api.GET("/api/saved-prompts"))).savedPrompts,
});

/** The prompts to insert in a session: one's own, and those that its folder offers. */
export const offeredPromptsQuery = (sessionId: string) =>
  queryOptions({
    queryKey: ["savedPrompts", sessionId],
    queryFn: async () =>
      (await dataOf(api.GET("/api/saved-prompts/offered", { params: { query: { sessionId } } }))).prompts,
    staleTime: 30_000,
    retry: false,
  });
