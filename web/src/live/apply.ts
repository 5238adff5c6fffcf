/** What events do to the kept answers: a record replaces its older self at once; lists that are made of many records are
 * asked for again, together and not too often. */
import type { QueryClient } from "@tanstack/react-query";
import type { Approval, Session, Task } from "@/api/types";
import type { LiveEvent } from "./stream";

/** Short enough to feel live, long enough that a tree at work asks once and not fifty times. */
const SETTLE = 200;

/** Which answers a kind of record is part of, besides its own. */
const PARTS: Record<string, string[]> = {
  session: ["home", "cards", "tree", "sessions", "race", "races", "callbacks"],
  task: ["home", "cards", "tree", "race", "sessionDiff", "words"],
  approval: ["home", "cards", "tree"],
  callback: ["callbacks", "tree"],
  tree: ["tree", "budget"],
  worktree: ["worktrees", "worktree", "cards", "home"],
  repo: ["repos", "cards", "home"],
  board: ["boards", "cards"],
  mcp_server: ["mcpServers"],
  rule: ["rules"],
  choice: ["choices"],
};

export class Applier {
  #touched = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #joined = false;

  constructor(private readonly queries: QueryClient) {}

  take = (event: LiveEvent): void => {
    const [noun = "", verb = ""] = event.type.split(".");
    if (event.type === "stream.gap") void this.queries.invalidateQueries();
    else if (event.type === "stream.ready") {
      // What was asked for before the stream stood may be older than its beginning.
      if (!this.#joined) void this.queries.invalidateQueries();
      this.#joined = true;
    } else if (noun !== "message") {
      this.#record(noun, verb, event);
      for (const part of PARTS[noun] ?? []) this.#touch(part);
    }
  };

  #record(noun: string, verb: string, event: LiveEvent): void {
    if (noun === "session") {
      const key = ["session", event.objectId];
      if (verb === "removed") void this.queries.invalidateQueries({ queryKey: key });
      else
        this.queries.setQueryData<Session>(key, (known) =>
          known && known.updatedAt <= event.data.updatedAt ? { ...known, ...event.data } : known,
        );
    } else if (noun === "task") {
      this.queries.setQueryData<Task[]>(
        ["tasks", event.sessionId],
        (known) =>
          known &&
          merged(known, { ...(event.data as Task), id: event.objectId! }, verb).sort(
            (a, b) => a.position - b.position,
          ),
      );
    } else if (noun === "approval") {
      const approval = event.data as Approval;
      this.queries.setQueryData<Approval[]>(
        ["approvals"],
        (known) => known && merged(known, approval, approval.status === "pending" ? verb : "removed"),
      );
    }
  }

  #touch(part: string): void {
    this.#touched.add(part);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const touched = this.#touched;
      this.#touched = new Set();
      void this.queries.invalidateQueries({ predicate: (query) => touched.has(String(query.queryKey[0])) });
    }, SETTLE);
  }
}

function merged<T extends { id: string; updatedAt: string }>(known: T[], record: T, verb: string): T[] {
  const at = known.findIndex((one) => one.id === record.id);
  if (verb === "removed") return at < 0 ? known : known.toSpliced(at, 1);
  if (at < 0) return [...known, record];
  return known[at]!.updatedAt <= record.updatedAt ? known.with(at, record) : known;
}
