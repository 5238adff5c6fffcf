/** A server in miniature and messages for it, for tests of transcripts. */
import { ApiError } from "@/api/client";
import type { Message } from "@/api/types";
import type { LiveEvent } from "../eventStream";
import type { PageQuery, Source } from "./restSource";
import { Transcript } from "./transcript";

export const at = (second: number) => new Date(Date.UTC(2030, 0, 1) + second * 1000).toISOString();

export function message(id: string, position: number, change: Partial<Message> = {}): Message {
  return {
    id,
    sessionId: "s",
    taskId: "t",
    position,
    role: "agent",
    content: { type: "text", text: id, partial: false },
    createdAt: at(position),
    updatedAt: at(position % 1e6),
    ...change,
  };
}
export const growing = (id: string, position: number, text: string, second = position) =>
  message(id, position, { content: { type: "text", text, partial: true }, updatedAt: at(second) });

/** A server in miniature: the same rules for pages as the real one. */
export class Server implements Source {
  asked: PageQuery[] = [];
  fetched: string[] = [];
  gate: Promise<void> | null = null;
  constructor(
    public messages: Message[],
    public parent: Message[] = [],
  ) {}
  async page(_: string, query: PageQuery): Promise<Message[]> {
    this.asked.push(query);
    const { before, after, since, limit, inherited } = query;
    const all = inherited ? [...this.parent, ...this.messages] : this.messages;
    const low = after ? all.findIndex((one) => one.id === after) + 1 : 0;
    const high = before ? all.findIndex((one) => one.id === before) : all.length;
    let found = all.slice(low, high);
    if (since) found = found.filter((one) => one.updatedAt > since);
    found = after || since ? found.slice(0, limit) : found.slice(-limit);
    if (this.gate) await this.gate;
    return found;
  }
  async one(id: string): Promise<Message> {
    this.fetched.push(id);
    const found = this.messages.find((one) => one.id === id);
    if (!found) throw new ApiError("message_not_found", "There is no such message.", 404);
    return found;
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
export const many = (count: number) => Array.from({ length: count }, (_, n) => message(`m${n}`, n + 1));
export async function opened(server: Server, around?: string): Promise<Transcript> {
  const transcript = new Transcript("s", server);
  await transcript.load(around);
  return transcript;
}
