/** A fake message source and builders of messages and events, for tests of transcripts. */
import { ApiError } from "@/api/client";
import type { Message } from "@/api/types";
import type { LiveEvent } from "../eventStream";
import type { MessageSource, PageQuery } from "./restSource";
import { Transcript } from "./transcript";

export const timeAt = (second: number) => new Date(Date.UTC(2030, 0, 1) + second * 1000).toISOString();

export function message(id: string, position: number, change: Partial<Message> = {}): Message {
  return {
    id,
    sessionId: "s",
    taskId: "t",
    position,
    role: "agent",
    content: { type: "text", text: id, partial: false },
    createdAt: timeAt(position),
    updatedAt: timeAt(position % 1e6),
    ...change,
  };
}
export const growingMessage = (id: string, position: number, text: string, second = position) =>
  message(id, position, { content: { type: "text", text, partial: true }, updatedAt: timeAt(second) });

/** Serves messages from memory by the real server's paging rules. */
export class FakeServer implements MessageSource {
  queries: PageQuery[] = [];
  fetched: string[] = [];
  /** Delays every page until it resolves. */
  gate: Promise<void> | null = null;
  constructor(
    public messages: Message[],
    public parent: Message[] = [],
  ) {}
  async page(_: string, query: PageQuery): Promise<Message[]> {
    this.queries.push(query);
    const { before, after, since, limit, inherited } = query;
    const all = inherited ? [...this.parent, ...this.messages] : this.messages;
    const low = after ? all.findIndex((message) => message.id === after) + 1 : 0;
    const high = before ? all.findIndex((message) => message.id === before) : all.length;
    let page = all.slice(low, high);
    if (since) page = page.filter((message) => message.updatedAt > since);
    page = after || since ? page.slice(0, limit) : page.slice(-limit);
    if (this.gate) await this.gate;
    return page;
  }
  async message(id: string): Promise<Message> {
    this.fetched.push(id);
    const message = this.messages.find((candidate) => candidate.id === id);
    if (!message) throw new ApiError("message_not_found", "No such message.", 404);
    return message;
  }
}

export const event = (type: string, data: Message): LiveEvent => ({
  type,
  sessionId: "s",
  objectId: data.id,
  data,
});
export const delta = (
  messageId: string,
  offset: number,
  text: string,
  type = "message.delta",
): LiveEvent => ({
  type,
  sessionId: "s",
  messageId,
  offset,
  text,
});
export const manyMessages = (count: number) =>
  Array.from({ length: count }, (_, n) => message(`m${n}`, n + 1));
export async function openTranscript(server: FakeServer, around?: string): Promise<Transcript> {
  const transcript = new Transcript("s", server);
  await transcript.load(around);
  return transcript;
}
