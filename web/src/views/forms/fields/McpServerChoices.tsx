/** Chooses the MCP servers that a session can use. */
import { Link } from "wouter";
import { useMcpServers } from "@/api/queries";
import { routes } from "@/app/routes";
import css from "@/views/forms/layout/form.module.css";

export function McpServerChoices({
  value,
  onChange,
}: {
  value: string[];
  onChange: (ids: string[]) => void;
}) {
  const servers = useMcpServers().data;
  if (servers?.length === 0)
    return (
      <p className={css.hint}>
        None yet. <Link href={routes.settingsOf("mcp-servers")}>Add one in the settings.</Link>
      </p>
    );
  return servers?.map((server) => (
    <label className={css.check} key={server.id}>
      <input
        type="checkbox"
        checked={value.includes(server.id)}
        onChange={(event) =>
          onChange(event.target.checked ? [...value, server.id] : value.filter((id) => id !== server.id))
        }
      />
      <span className={css.checkText}>
        {server.name}
        {!server.enabled && <span className={css.hint}>Disabled</span>}
      </span>
    </label>
  ));
}
