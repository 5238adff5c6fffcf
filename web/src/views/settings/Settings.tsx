/** Settings: what this browser shows, and what the server works with. Each part has an address of its own. */
import type { ComponentType } from "react";
import { Link, Redirect } from "wouter";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { AgentsPart } from "./AgentSettings";
import { PagePart } from "./AppearanceSettings";
import { McpServersPart } from "./McpServerSettings";
import { PolicyPart } from "./PolicySettings";
import { ReposPart } from "./RepoSettings";
import { ServerPart } from "./ServerSettings";
import css from "./Settings.module.css";

const PARTS: Record<string, { name: string; about: string; Part: ComponentType }> = {
  page: {
    name: "This page",
    about: "How the page looks and tells you of things, in this browser.",
    Part: PagePart,
  },
  agents: {
    name: "Agents",
    about: "Which agents can be used, and how to connect the others.",
    Part: AgentsPart,
  },
  repos: {
    name: "Repositories",
    about: "Where sessions work, and how their new worktrees are made ready.",
    Part: ReposPart,
  },
  policy: {
    name: "Policy",
    about: "What agents may do: rules are tried in their order, the first that matches counts.",
    Part: PolicyPart,
  },
  "mcp-servers": {
    name: "MCP servers",
    about: "Tools that sessions can be given. Values of env and headers are kept secret.",
    Part: McpServersPart,
  },
  server: { name: "Server", about: "The settings that this server runs with.", Part: ServerPart },
};

export default function Settings({ params }: { params: { part?: string } }) {
  const name = params.part ?? "page";
  const found = PARTS[name];
  useTitle(found ? `${found.name} · Settings` : "Settings");
  if (!found) return <Redirect to={routes.settings} replace />;
  const { Part } = found;
  return (
    <div className={css.settings}>
      <nav className={css.nav} aria-label="Settings">
        <ul>
          {Object.entries(PARTS).map(([part, one]) => (
            <li key={part}>
              <Link href={routes.settingsOf(part)} aria-current={part === name ? "page" : undefined}>
                {one.name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className={css.part}>
        <h1>{found.name}</h1>
        <p className={css.about}>{found.about}</p>
        <Part />
      </div>
    </div>
  );
}
