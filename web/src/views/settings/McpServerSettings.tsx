/** Settings of MCP servers, which sessions can use. */
import { Plug, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { patchMcpServer, removeMcpServer, runRequest } from "@/api/actions";
import { useMcpServers } from "@/api/queries";
import type { McpServer } from "@/api/types";
import { Button, IconButton } from "@/ui/controls/Button";
import { Empty, QueryResult } from "@/ui/feedback/Placeholders";
import { Badge } from "@/ui/labels/Badge";
import { McpServerDialog } from "./McpServerDialog";
import css from "./Settings.module.css";

export function McpServerSettings() {
  const [shown, setShown] = useState<McpServer | "new" | null>(null);
  return (
    <>
      <div className={css.actions}>
        <Button variant="primary" icon={<Plus />} onClick={() => setShown("new")}>
          Add server
        </Button>
      </div>
      <QueryResult query={useMcpServers()}>
        {(servers) =>
          servers.length ? (
            <ul className={css.list}>
              {servers.map((server) => (
                <li key={server.id} className={css.card}>
                  <div className={css.row}>
                    <h2 className={`${css.grow} ${css.name}`}>{server.name}</h2>
                    <Badge>{server.transport}</Badge>
                    {!server.enabled && <Badge tone="waiting">Disabled</Badge>}
                    <Button
                      size="small"
                      onClick={() =>
                        void runRequest(() => patchMcpServer(server.id, { enabled: !server.enabled }))
                      }
                    >
                      {server.enabled ? "Disable" : "Enable"}
                    </Button>
                    <Button size="small" onClick={() => setShown(server)}>
                      Edit
                    </Button>
                    <IconButton
                      label={`Remove ${server.name}`}
                      size="small"
                      onClick={() => void runRequest(() => removeMcpServer(server.id))}
                    >
                      <Trash2 />
                    </IconButton>
                  </div>
                  <p className={css.soft}>{server.url ?? [server.command, ...server.args].join(" ")}</p>
                </li>
              ))}
            </ul>
          ) : (
            <Empty icon={<Plug />} title="No MCP servers yet">
              Every session has Bough's own tools. Servers added here can be used by any session.
            </Empty>
          )
        }
      </QueryResult>
      {shown && <McpServerDialog server={shown === "new" ? null : shown} onClose={() => setShown(null)} />}
    </>
  );
}
