/** Where a transcript's messages come from: the server's REST. */
import { api, got } from "@/api/client";
import type { Message } from "@/api/types";

export interface PageQuery {
  before?: string;
  after?: string;
  since?: string;
  limit: number;
  inherited?: boolean;
}

export interface Source {
  page(sessionId: string, query: PageQuery): Promise<Message[]>;
  one(messageId: string): Promise<Message>;
}

export const rest: Source = {
  page: async (sessionId, query) =>
    (await got(
      api.GET("/api/sessions/{sessionId}/messages", { params: { path: { sessionId }, query } }),
    )) as Message[],
  one: async (messageId) =>
    (await got(api.GET("/api/messages/{messageId}", { params: { path: { messageId } } }))) as Message,
};
