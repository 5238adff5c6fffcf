/** Maps error codes of the server to the form field that they concern. */
import { ApiError } from "@/api/client";

export type FieldName =
  | "prompt"
  | "title"
  | "repo"
  | "directory"
  | "preset"
  | "agent"
  | "mode"
  | "model"
  | "effort"
  | "mcp"
  | "env"
  | "files"
  | "form";

const FIELDS: Record<string, FieldName> = {
  empty_prompt: "prompt",
  bad_prompt: "prompt",
  prompt_too_large: "prompt",
  title_too_long: "title",
  repo_not_found: "repo",
  repo_missing: "repo",
  repo_known: "repo",
  preset_not_found: "preset",
  unknown_agent: "agent",
  agent_missing: "agent",
  agent_login: "agent",
  mode_above_parent: "mode",
  mode_unmapped: "mode",
  bad_branch: "directory",
  bad_base: "directory",
  branch_missing: "directory",
  branch_exists: "directory",
  branch_in_use: "directory",
  branch_ambiguous: "directory",
  path_exists: "directory",
  path_outside_root: "directory",
  path_in_data_folder: "directory",
  folder_unconfirmed: "form",
  path_not_absolute: "directory",
  bad_path: "directory",
  repo_empty: "directory",
  repo_is_plain: "directory",
  repo_busy: "directory",
  no_commit: "directory",
  not_a_repository: "directory",
  git_failed: "directory",
  git_timeout: "directory",
  worktree_not_found: "directory",
  worktree_removed: "directory",
  worktree_busy: "directory",
  worktree_of_other_repo: "directory",
  mcp_server_not_found: "mcp",
  bad_env: "env",
  bad_agent_env: "env",
  env_too_large: "env",
  path_missing: "files",
};

/** Returns the field that an error concerns; `form` if the form does not have that field among `offered`. */
export function errorField(error: unknown, offered?: readonly FieldName[]): FieldName {
  if (!(error instanceof ApiError)) return "form";
  const field =
    error.code === "bad_choice"
      ? error.message.startsWith("effort")
        ? "effort"
        : "model"
      : (FIELDS[error.code] ?? "form");
  return !offered || offered.includes(field) ? field : "form";
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
