/** Which field of a form a refusal belongs to, so that it is said there and not in a corner. */
import { ApiError } from "@/api/client";

export type FieldName =
  | "prompt"
  | "title"
  | "repo"
  | "place"
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
  unknown_agent: "agent",
  agent_missing: "agent",
  agent_login: "agent",
  mode_above_parent: "mode",
  mode_unmapped: "mode",
  bad_branch: "place",
  bad_base: "place",
  branch_missing: "place",
  branch_exists: "place",
  branch_in_use: "place",
  branch_ambiguous: "place",
  path_exists: "place",
  path_outside_root: "place",
  path_in_data_folder: "place",
  path_not_absolute: "place",
  bad_path: "place",
  repo_empty: "place",
  repo_is_plain: "place",
  repo_busy: "place",
  no_commit: "place",
  not_a_repository: "place",
  git_failed: "place",
  git_timeout: "place",
  worktree_not_found: "place",
  worktree_removed: "place",
  worktree_busy: "place",
  worktree_of_other_repo: "place",
  mcp_server_not_found: "mcp",
  bad_env: "env",
  bad_agent_env: "env",
  env_too_large: "env",
  path_missing: "files",
};

/** `offered` are the fields that the form has: what belongs to another is said for the form as a whole. */
export function fieldOf(error: unknown, offered?: readonly FieldName[]): FieldName {
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
