/** Loads a transcript's messages over REST. */
import { api, dataOf } from "@/api/client";
import type { Message } from "@/api/types";

export interface PageQuery {
  before?: string;
  after?: string;
  since?: string;
  limit: number;
  inherited?: boolean;
}

export interface MessageSource {
  page(sessionId: string, query: PageQuery): Promise<Message[]>;
  message(messageId: string): Promise<Message>;
}

export const restSource: MessageSource = {
  page: async (sessionId, query) =>
    (await dataOf(
      api.GET("/api/sessions/{sessionId}/messages", { params: { path: { sessionId }, query } }),
    )) as Message[],
  message: async (messageId) =>
    (await dataOf(api.GET("/api/messages/{messageId}", { params: { path: { messageId } } }))) as Message,
};
