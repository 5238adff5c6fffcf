/** Shows the audit trail, newest entries first. */
import { useState } from "react";
import { Link } from "wouter";
import { useAudit, useUsers } from "@/api/queries";
import type { AuditEntry } from "@/api/types";
import { routes } from "@/app/routes";
import { Button } from "@/ui/controls/Button";
import { Field, Select } from "@/ui/controls/Field";
import { QueryResult } from "@/ui/feedback/Placeholders";
import { Breakable } from "@/ui/labels/Breakable";
import { Time } from "@/ui/labels/Time";
import css from "../Settings.module.css";

const PIECE = 50;
const MOST = 500;
/** The first parts of actions, by which the list is filtered. */
const GROUPS = {
  session: "Sessions",
  approval: "Approvals",
  rule: "Rules",
  prompt: "Queued prompts",
  files: "Restored files",
  race: "Races",
  budget: "Budgets",
  choice: "Always-allowed actions",
  repo: "Repositories",
  worktree: "Worktrees",
  checkpoints: "Checkpoints",
  git_permissions: "Git permissions",
  mcp_server: "MCP servers",
  user: "People",
  token: "Tokens",
  server_token: "Server token",
  page: "Sign-ins",
  audit: "Audit trail",
};

/** Describes what an entry changed: names and values, as short as they can be. */
export function describeDetails(details: AuditEntry["details"]): string {
  return Object.entries(details)
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}

function Who({ entry }: { entry: AuditEntry }) {
  if (entry.userName) return <>{entry.userName}</>;
  if (entry.callerSessionId) return <Link href={routes.session(entry.callerSessionId)}>An agent</Link>;
  return <>Bough</>;
}

export function AuditSettings() {
  const [user, setUser] = useState("");
  const [action, setAction] = useState("");
  const [limit, setLimit] = useState(PIECE);
  const { data: users = [] } = useUsers();
  const query = useAudit({ user: user || undefined, action: action || undefined, limit });
  // Also people who were removed.
  const shown = query.data?.entries.flatMap((entry) => entry.userName ?? []) ?? [];
  const names = [...new Set([...users.map((item) => item.name), ...shown, ...(user ? [user] : [])])];
  return (
    <>
      <div className={css.actions}>
        <Field label="Person">
          <Select value={user} onChange={(event) => setUser(event.target.value)}>
            <option value="">Everyone</option>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </Select>
        </Field>
        <Field label="Category">
          <Select value={action} onChange={(event) => setAction(event.target.value)}>
            <option value="">Everything</option>
            {Object.entries(GROUPS).map(([group, name]) => (
              <option key={group} value={group}>
                {name}
              </option>
            ))}
          </Select>
        </Field>
      </div>
      <QueryResult query={query}>
        {({ entries, total }) => (
          <>
            <table className={css.table}>
              <thead>
                <tr>
                  <th scope="col">When</th>
                  <th scope="col">Who</th>
                  <th scope="col">Action</th>
                  <th scope="col">Details</th>
                </tr>
              </thead>
              <tbody>
                {entries.map((entry) => (
                  <tr key={entry.number}>
                    <td>
                      <Time at={entry.at} />
                    </td>
                    <td>
                      <Who entry={entry} />
                    </td>
                    <td>
                      {entry.sessionId ? (
                        <Link href={routes.session(entry.sessionId)}>
                          <Breakable text={entry.action} />
                        </Link>
                      ) : (
                        <Breakable text={entry.action} />
                      )}
                    </td>
                    <td className={css.soft}>{describeDetails(entry.details)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
            {entries.length === 0 && <p className={css.soft}>No entries.</p>}
            {entries.length < total && limit < MOST && (
              <div className={css.actions}>
                <Button onClick={() => setLimit(Math.min(limit + PIECE, MOST))}>Show more</Button>
              </div>
            )}
            {limit >= MOST && (
              <p className={css.soft}>
                For older entries, run <code>bough audit --export</code>.
              </p>
            )}
          </>
        )}
      </QueryResult>
    </>
  );
}
