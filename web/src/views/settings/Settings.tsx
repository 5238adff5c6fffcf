/** Settings of this browser and of the server; each section has its own address. */
import type { ComponentType } from "react";
import { Link, Redirect } from "wouter";
import { useMay } from "@/api/queries";
import type { Role } from "@/api/types";
import { routes } from "@/app/routes";
import { useTitle } from "@/app/title";
import { AgentSettings } from "./AgentSettings";
import { AppearanceSettings } from "./AppearanceSettings";
import { AccessSettings } from "./access/AccessSettings";
import { AuditSettings } from "./access/AuditSettings";
import { PeopleSettings } from "./access/PeopleSettings";
import { McpServerSettings } from "./McpServerSettings";
import { PolicySettings } from "./PolicySettings";
import { PresetSettings } from "./PresetSettings";
import { PromptSettings } from "./PromptSettings";
import { RepoSettings } from "./RepoSettings";
import { ServerSettings } from "./ServerSettings";
import css from "./Settings.module.css";
import { ScheduleSettings } from "./schedules/ScheduleSettings";
import { WorktreeSettings } from "./WorktreeSettings";

interface SettingsPart {
  name: string;
  about: string;
  Part: ComponentType;
  /** Whether only admins can see it. */
  admin?: boolean;
  /** Who can change something in it; others only read. */
  changedBy?: Role;
}

const PARTS: Record<string, SettingsPart> = {
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
    changedBy: "operator",
  },
  worktrees: {
    name: "Worktrees",
    about: "The disk that worktrees and repositories use, and a cleanup of what is merged.",
    Part: WorktreeSettings,
  },
  policy: {
    name: "Policy",
    about: "Rights of agents. Rules are tried in order; the first match wins.",
    Part: PolicySettings,
    changedBy: "admin",
  },
  schedules: {
    name: "Schedules",
    about: "Prompts that are sent by the clock. Each time is used once, also after a crash.",
    Part: ScheduleSettings,
    changedBy: "operator",
  },
  "mcp-servers": {
    name: "MCP servers",
    about: "More tools for sessions. Values of variables and headers are stored as secrets.",
    Part: McpServerSettings,
    changedBy: "admin",
  },
  presets: {
    name: "Presets",
    about: "Named combinations of an agent and its settings, which sessions can start from.",
    Part: PresetSettings,
    changedBy: "admin",
  },
  prompts: {
    name: "Prompts",
    about: "Texts that you insert into prompts by a slash or a button. Nobody else sees yours.",
    Part: PromptSettings,
  },
  people: {
    name: "People",
    about: "Viewers read, operators also work with sessions and decide approvals, admins also change rights.",
    Part: PeopleSettings,
    admin: true,
  },
  access: {
    name: "Access",
    about: "Tokens, and browsers that are signed in. Each browser has a key of its own, valid for 30 days.",
    Part: AccessSettings,
  },
  audit: {
    name: "Audit",
    about: "A record of who opened, prompted, decided and changed rights. Nobody can edit these entries.",
    Part: AuditSettings,
    admin: true,
  },
  server: { name: "Server", about: "The settings this server was started with.", Part: ServerSettings },
};

export default function Settings({ params }: { params: { part?: string } }) {
  const name = params.part ?? "page";
  const item = PARTS[name];
  const isAdmin = useMay("admin");
  const mayChange = useMay(item?.changedBy ?? "viewer");
  useTitle(item ? `${item.name} · Settings` : "Settings");
  if (!item) return <Redirect to={routes.settings} replace />;
  const { Part } = item;
  return (
    <div className={css.settings}>
      <nav className={css.nav} aria-label="Settings">
        <ul>
          {Object.entries(PARTS)
            .filter(([, entry]) => isAdmin || !entry.admin)
            .map(([part, entry]) => (
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
        {mayChange ? (
          <Part />
        ) : (
          <fieldset className={css.fields} disabled>
            <legend className={css.soft}>You can only read these settings.</legend>
            <Part />
          </fieldset>
        )}
      </div>
    </div>
  );
}
