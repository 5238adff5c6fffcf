/** What the canvas of a tree shows besides its sessions: reports between them, and the numbers of tasks that forks began
 * at. */
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { callbacksQuery, tasksQuery } from "@/api/queries";
import type { Callback, Node } from "@/api/types";

const unique = (ids: (string | null)[]) => [...new Set(ids.filter((id) => id !== null))];

/** Reports to every session of the tree that has children. */
export function useCallbacks(nodes: Node[]): Callback[] {
  const parents = useMemo(
    () => unique(nodes.filter((one) => one.kind === "subsession").map((one) => one.parentSessionId)),
    [nodes],
  );
  return useQueries({
    queries: parents.map(callbacksQuery),
    combine: (answers) => answers.flatMap((one) => one.data ?? []),
  });
}

/** Which task of its session each task is, for the sessions that were forked. */
export function useTaskNumbers(nodes: Node[]): Map<string, number> {
  const origins = useMemo(
    () => unique(nodes.filter((one) => one.kind === "fork").map((one) => one.forkedFromSessionId)),
    [nodes],
  );
  const found = useQueries({
    queries: origins.map(tasksQuery),
    combine: (answers) => answers.flatMap((one) => one.data ?? []),
  });
  return useMemo(() => new Map(found.map((task) => [task.id, task.position])), [found]);
}
