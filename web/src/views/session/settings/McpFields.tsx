/** Chooses which of the registered MCP servers the session's agent gets. */
import { Link } from "wouter";
import { useMcpServers } from "@/api/queries";
import { routes } from "@/app/routes";
import { QueryResult } from "@/ui/feedback/Placeholders";
import css from "./Settings.module.css";

export function McpFields({ chosen, onChange }: { chosen: string[]; onChange: (ids: string[]) => void }) {
  const query = useMcpServers();
  return (
    <fieldset className={css.part}>
      <legend className={css.head}>MCP servers</legend>
      <QueryResult query={query}>
        {(servers) =>
          servers.length === 0 ? (
            <p className={css.hint}>
              None yet. <Link href={routes.settingsOf("mcp")}>Add one in Settings.</Link>
            </p>
          ) : (
            servers.map((server) => (
              <label key={server.id} className={css.choice}>
                <input
                  type="checkbox"
                  checked={chosen.includes(server.id)}
                  onChange={(event) =>
                    onChange(
                      event.target.checked ? [...chosen, server.id] : chosen.filter((id) => id !== server.id),
                    )
                  }
                />
                <span>
                  <span className={css.choiceName}>{server.name}</span>
                  <span className={css.hint}>
                    {server.transport === "stdio" ? server.command : server.url}
                    {server.enabled ? "" : " (disabled)"}
                  </span>
                </span>
              </label>
            ))
          )
        }
      </QueryResult>
    </fieldset>
  );
}
