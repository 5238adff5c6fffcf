/** Settings of this browser and of the server; each section has its own address. */
import type { ComponentType } from "react";
import { Link, Redirect } from "wouter";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { AccessSettings } from "./AccessSettings";
import { AgentSettings } from "./AgentSettings";
import { AppearanceSettings } from "./AppearanceSettings";
import { McpServerSettings } from "./McpServerSettings";
import { PolicySettings } from "./PolicySettings";
import { RepoSettings } from "./RepoSettings";
import { ServerSettings } from "./ServerSettings";
import css from "./Settings.module.css";

const PARTS: Record<string, { name: string; about: string; Part: ComponentType }> = {
  page: {
    name: "Appearance",
    about: "Settings of this browser.",
    Part: AppearanceSettings,
  },
  agents: {
    name: "Agents",
    about: "Installed agents, and how to install others.",
    Part: AgentSettings,
  },
  repos: {
    name: "Repositories",
    about: "Folders that sessions work in, and the setup of new worktrees.",
    Part: RepoSettings,
  },
  policy: {
    name: "Policy",
    about: "What agents may do. Rules are tried in order; the first match wins.",
    Part: PolicySettings,
  },
  "mcp-servers": {
    name: "MCP servers",
    about: "More tools for sessions. Values of variables and headers are stored as secrets.",
    Part: McpServerSettings,
  },
  access: {
    name: "Access",
    about: "Browsers that are signed in. Each has a key of its own, valid for 30 days.",
    Part: AccessSettings,
  },
  server: { name: "Server", about: "The settings this server was started with.", Part: ServerSettings },
};

export default function Settings({ params }: { params: { part?: string } }) {
  const name = params.part ?? "page";
  const item = PARTS[name];
  useTitle(item ? `${item.name} · Settings` : "Settings");
  if (!item) return <Redirect to={routes.settings} replace />;
  const { Part } = item;
  return (
    <div className={css.settings}>
      <nav className={css.nav} aria-label="Settings">
        <ul>
          {Object.entries(PARTS).map(([part, entry]) => (
            <li key={part}>
              <Link href={routes.settingsOf(part)} aria-current={part === name ? "page" : undefined}>
                {entry.name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className={css.part}>
        <h1>{item.name}</h1>
        <p className={css.about}>{item.about}</p>
        <Part />
      </div>
    </div>
  );
}
