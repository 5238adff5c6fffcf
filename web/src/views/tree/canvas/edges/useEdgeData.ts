/** Fetches what the edges of a tree show: reports, and the turns that forks started from. */
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { callbacksQuery, tasksQuery } from "@/api/queries";
import type { Callback, Node } from "@/api/types";

const unique = (ids: (string | null)[]) => [...new Set(ids.filter((id) => id !== null))];

/** Returns the reports to all sessions that have children. */
export function useCallbacks(nodes: Node[]): Callback[] {
  const parents = useMemo(
    () => unique(nodes.filter((node) => node.kind === "subsession").map((node) => node.parentSessionId)),
    [nodes],
  );
  return useQueries({
    queries: parents.map(callbacksQuery),
    combine: (answers) => answers.flatMap((answer) => answer.data ?? []),
  });
}

/** Returns the number of each task within its session, for sessions that were forked. */
export function useTaskNumbers(nodes: Node[]): Map<string, number> {
  const origins = useMemo(
    () => unique(nodes.filter((item) => item.kind === "fork").map((node) => node.forkedFromSessionId)),
    [nodes],
  );
  const tasks = useQueries({
    queries: origins.map(tasksQuery),
    combine: (answers) => answers.flatMap((answer) => answer.data ?? []),
  });
  return useMemo(() => new Map(tasks.map((task) => [task.id, task.position])), [tasks]);
}
