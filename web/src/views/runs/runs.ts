/** Names and links of commands that run in worktrees. */
import type { Run } from "@/api/types";

const LOOPBACKS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether this browser is on the server's machine, as far as the address tells; only there it reaches what runs. */
export const isLocal = (hostname = location.hostname) => LOOPBACKS.has(hostname);

export const runName = (run: Run) => run.name ?? run.command;

/** The address at which a command serves, once it answers. */
export const runLink = (run: Run) => (run.answers && run.port ? `http://localhost:${run.port}/` : null);

export function runState({ state, code, answers, port }: Run): string {
  if (state === "running") return answers ? `Serving at port ${port}` : "Running";
  if (state === "stopped") return "Stopped";
  if (state === "lost") return "Ended for an unknown reason";
  return code === 0
    ? "Ended"
    : code !== null && code < 0
      ? `Ended by signal ${-code}`
      : `Failed with code ${code}`;
}
