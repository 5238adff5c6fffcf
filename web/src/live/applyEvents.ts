/** What events do to the kept answers: a record replaces its older self at once; lists that are made of many records are
 * asked for again, together and not too often. */
import { hashKey, type Query, type QueryClient } from "@tanstack/react-query";
import type { Approval, Session, Task } from "@/api/types";
import type { LiveEvent } from "./eventStream";

/** Short enough to feel live, long enough that a tree at work asks once and not fifty times. */
const SETTLE = 200;

/** Which answers a kind of record is part of, besides its own. */
const PARTS: Record<string, string[]> = {
  session: ["home", "cards", "tree", "sessions", "race", "races", "callbacks"],
  task: ["home", "cards", "tree", "race", "sessionDiff", "words", "budget"],
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

/** Of these only the ones about the session of the event: there may be dozens on the start page. */
const OF_SESSION = new Set(["sessionDiff", "words"]);

export class EventApplier {
  #touched = new Set<string>();
  /** Questions whose answer was on the way when something happened: it may be older than that. */
  #late = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #joined = false;

  constructor(private readonly queries: QueryClient) {}

  take = (event: LiveEvent): void => {
    const [noun = "", verb = ""] = event.type.split(".");
    if (event.type === "stream.gap") this.#ask(() => true);
    else if (event.type === "stream.ready") {
      // What was asked for before the stream stood may be older than its beginning; what failed while the server was
      // away is tried again.
      const first = !this.#joined;
      this.#joined = true;
      this.#ask((query) => first || query.state.status === "error");
    } else if (noun !== "message") {
      this.#record(noun, verb, event);
      for (const part of PARTS[noun] ?? [])
        this.#touched.add(OF_SESSION.has(part) ? `${part} ${event.sessionId}` : part);
      if (this.#touched.size) this.#soon();
    }
  };

  #record(noun: string, verb: string, event: LiveEvent): void {
    if (noun === "session") {
      const key = ["session", event.objectId];
      this.#overtake(key);
      if (verb === "removed") this.#ask(({ queryHash }) => queryHash === hashKey(key));
      else
        this.queries.setQueryData<Session>(key, (known) =>
          known && known.updatedAt <= event.data.updatedAt ? { ...known, ...event.data } : known,
        );
    } else if (noun === "task") {
      const key = ["tasks", event.sessionId];
      this.#overtake(key);
      this.queries.setQueryData<Task[]>(
        key,
        (known) =>
          known &&
          merged(known, { ...(event.data as Task), id: event.objectId! }, verb).sort(
            (a, b) => a.position - b.position,
          ),
      );
    } else if (noun === "approval") {
      const approval = event.data as Approval;
      this.#overtake(["approvals"]);
      this.queries.setQueryData<Approval[]>(
        ["approvals"],
        (known) => known && merged(known, approval, approval.status === "pending" ? verb : "removed"),
      );
    }
  }

  /** An answer on the way would put the record back to how it was before the event. */
  #overtake(queryKey: readonly unknown[]): void {
    const query = this.queries.getQueryCache().find({ queryKey, exact: true });
    if (!query || isIdle(query)) return;
    this.#late.add(query.queryHash);
    this.#soon();
  }

  #soon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const [touched, late] = [this.#touched, this.#late];
      this.#touched = new Set();
      this.#late = new Set();
      this.#ask(
        ({ queryHash, queryKey: [part, id] }) =>
          late.has(queryHash) || touched.has(String(part)) || touched.has(`${part} ${id}`),
      );
    }, SETTLE);
  }

  /** Asks anew. What is being asked already is let come first: begun again with every event, a slow answer would never
   * be there while agents are at work. */
  #ask(wanted: (query: Query) => boolean): void {
    const found = new Set(this.queries.getQueryCache().findAll({ predicate: wanted }));
    for (const query of found)
      if (!isIdle(query)) {
        found.delete(query);
        this.#late.add(query.queryHash);
      }
    if (this.#late.size) this.#soon();
    void this.queries.invalidateQueries({ predicate: (query) => found.has(query) });
  }
}

const isIdle = (query: Query) => query.state.fetchStatus === "idle";

function merged<T extends { id: string; updatedAt: string }>(known: T[], record: T, verb: string): T[] {
  const at = known.findIndex((one) => one.id === record.id);
  if (verb === "removed") return at < 0 ? known : known.toSpliced(at, 1);
  if (at < 0) return [...known, record];
  return known[at]!.updatedAt <= record.updatedAt ? known.with(at, record) : known;
}
