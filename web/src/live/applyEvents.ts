/** Applies server events to the query cache: a changed record is replaced at once; queries that combine many records are
 * refetched in batches. */
import { hashKey, type Query, type QueryClient } from "@tanstack/react-query";
import type { Approval, Session, Task } from "@/api/types";
import type { LiveEvent } from "./eventStream";

/** Short enough to feel live, long enough that a busy tree causes one refetch instead of fifty. */
const BATCH_DELAY = 200;

/** Queries to refetch when a record of a kind changes. */
const DEPENDENT_QUERIES: Record<string, string[]> = {
  session: ["home", "sidebar", "cards", "tree", "sessions", "race", "races", "callbacks", "transcriptSize"],
  task: [
    "home",
    "sidebar",
    "usage",
    "cards",
    "tree",
    "race",
    "raceDiff",
    "sessionDiff",
    "review",
    "reviewComments",
    "words",
    "budget",
    "finish",
  ],
  approval: ["home", "sidebar", "cards", "tree"],
  callback: ["callbacks", "tree"],
  tree: ["tree", "budget"],
  worktree: ["worktrees", "worktree", "cards", "home", "sidebar", "race", "finish", "checks"],
  repo: ["repos", "repoGit", "repoConfig", "foundRepos", "folders", "cards", "home", "sidebar"],
  board: ["boards", "cards"],
  mcp_server: ["mcpServers"],
  preset: ["presets", "schedules"],
  rule: ["rules"],
  choice: ["choices"],
  schedule: ["schedules", "scheduleRuns"],
  terminal: ["terminals"],
  run: ["runs"],
  clone: ["clones"],
};

/** Queries of which only those about the event's session are refetched: the home page may hold dozens. */
const PER_SESSION = new Set(["raceDiff", "sessionDiff", "words", "transcriptSize"]);

export class EventApplier {
  #stale = new Set<string>();
  /** Queries that were in flight when an event came: their responses may be older than the event. */
  #outdated = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #connectedOnce = false;

  constructor(private readonly queries: QueryClient) {}

  take = (event: LiveEvent): void => {
    const [noun = "", verb = ""] = event.type.split(".");
    if (event.type === "stream.gap") this.#refetch(() => true);
    else if (event.type === "stream.ready") {
      // Responses from before the first connection may be older than the stream's first event. Queries that failed
      // while the server was away are retried.
      const first = !this.#connectedOnce;
      this.#connectedOnce = true;
      this.#refetch((query) => first || query.state.status === "error");
    } else if (noun !== "message") {
      this.#replaceRecord(noun, verb, event);
      for (const name of DEPENDENT_QUERIES[noun] ?? [])
        this.#stale.add(PER_SESSION.has(name) ? `${name} ${event.sessionId}` : name);
      if (this.#stale.size) this.#scheduleBatch();
    }
  };

  #replaceRecord(noun: string, verb: string, event: LiveEvent): void {
    if (noun === "session") {
      const key = ["session", event.objectId];
      this.#refetchIfInFlight(key);
      if (verb === "removed") this.#refetch(({ queryHash }) => queryHash === hashKey(key));
      else
        this.queries.setQueryData<Session>(key, (known) =>
          known && known.updatedAt <= event.data.updatedAt ? { ...known, ...event.data } : known,
        );
    } else if (noun === "task") {
      const key = ["tasks", event.sessionId];
      this.#refetchIfInFlight(key);
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
      this.#refetchIfInFlight(["approvals"]);
      this.queries.setQueryData<Approval[]>(
        ["approvals"],
        (known) => known && merged(known, approval, approval.status === "pending" ? verb : "removed"),
      );
    }
  }

  /** Refetches a query that is in flight: its response may undo the event. */
  #refetchIfInFlight(queryKey: readonly unknown[]): void {
    const query = this.queries.getQueryCache().find({ queryKey, exact: true });
    if (!query || isIdle(query)) return;
    this.#outdated.add(query.queryHash);
    this.#scheduleBatch();
  }

  #scheduleBatch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const [stale, outdated] = [this.#stale, this.#outdated];
      this.#stale = new Set();
      this.#outdated = new Set();
      this.#refetch(
        ({ queryHash, queryKey: [name, id] }) =>
          outdated.has(queryHash) || stale.has(String(name)) || stale.has(`${name} ${id}`),
      );
    }, BATCH_DELAY);
  }

  /** Refetches the matching queries. Queries in flight finish first: restarted with every event, a slow one would never
   * finish while agents work. */
  #refetch(matches: (query: Query) => boolean): void {
    const queries = new Set(this.queries.getQueryCache().findAll({ predicate: matches }));
    for (const query of queries)
      if (!isIdle(query)) {
        queries.delete(query);
        this.#outdated.add(query.queryHash);
      }
    if (this.#outdated.size) this.#scheduleBatch();
    void this.queries.invalidateQueries({ predicate: (query) => queries.has(query) });
  }
}

const isIdle = (query: Query) => query.state.fetchStatus === "idle";

function merged<T extends { id: string; updatedAt: string }>(known: T[], record: T, verb: string): T[] {
  const at = known.findIndex((item) => item.id === record.id);
  if (verb === "removed") return at < 0 ? known : known.toSpliced(at, 1);
  if (at < 0) return [...known, record];
  return known[at]!.updatedAt <= record.updatedAt ? known.with(at, record) : known;
}
