"""Decides which role a person needs at each door: for every route, tool and method, in one table per door.

What is not in a table is denied to everybody, so that a new route is decided about before it works. Services check a
few fields that need more than their route does, such as the sandbox of a session, with `Caller.require`. Agents are not
people: their tokens open only the tools' door, where the policy decides."""

from __future__ import annotations

from typing import Literal

from bough.errors import Denied, Unauthenticated
from bough.model.access.user import Role
from bough.model.session import Caller

# Needs no role: the page's files and what a browser needs to sign in.
ANYBODY = "anybody"
Needed = Role | Literal["anybody"]

_ROUTES: dict[Needed, str] = {
    "anybody": """
        GET /
        GET /assets/{name}
        GET /docs
        GET /api/health
        POST /sign-in
    """,
    # Reads everything except the audit trail and other people's tokens. Revokes and replaces its own, and
    # pins sessions for itself.
    "viewer": """
        GET /metrics
        GET /openapi
        GET /openapi.json
        GET /openapi/{path}
        GET /openapi/openapi.json
        GET /api/agents
        GET /api/agents/{name}/offer
        GET /api/approvals
        GET /api/approvals/{approval_id}
        GET /api/boards
        GET /api/boards/{board_id}
        GET /api/boards/{board_id}/cards
        GET /api/checkpoints
        GET /api/checkpoints/{checkpoint_id}
        GET /api/clones
        GET /api/clones/{clone_id}
        GET /api/events
        WS /api/events
        WS /acp
        GET /api/files/{file_id}
        GET /api/find
        GET /api/home
        GET /api/mcp-servers
        GET /api/mcp-servers/{server_id}
        GET /api/me
        GET /api/messages/{message_id}
        GET /api/policy/choices
        GET /api/policy/choices/{choice_id}
        POST /api/policy/explain
        GET /api/policy/rules
        GET /api/policy/rules/{rule_id}
        GET /api/presets
        GET /api/presets/{preset_id}
        GET /api/races
        GET /api/races/{race_id}
        GET /api/races/{race_id}/diff
        GET /api/repos
        GET /api/repos/{repo_id}
        GET /api/repos/{repo_id}/git
        GET /api/repos/{repo_id}/config
        GET /api/repos/{repo_id}/worktrees
        GET /api/reviews/{kind}/{subject_id}
        GET /api/reviews/{kind}/{subject_id}/comments
        GET /api/reviews/{kind}/{subject_id}/file
        GET /api/runs
        GET /api/runs/{run_id}
        GET /api/runs/{run_id}/log
        GET /api/saved-prompts
        GET /api/saved-prompts/offered
        GET /api/saved-prompts/{name}
        GET /api/schedules
        GET /api/schedules/{schedule_id}
        GET /api/schedules/{schedule_id}/runs
        GET /api/search
        GET /api/sessions
        GET /api/sessions/{session_id}
        GET /api/sessions/{session_id}/budget
        GET /api/sessions/{session_id}/callbacks
        GET /api/sessions/{session_id}/calls
        GET /api/sessions/{session_id}/diff
        GET /api/sessions/{session_id}/export
        GET /api/sessions/{session_id}/files
        GET /api/sessions/{session_id}/messages
        GET /api/sessions/{session_id}/races
        GET /api/sessions/{session_id}/tasks
        GET /api/sessions/{session_id}/transcript
        GET /api/sessions/{session_id}/tree
        GET /api/settings
        GET /api/sidebar
        GET /api/usage
        PUT /api/sessions/{session_id}/pin
        DELETE /api/sessions/{session_id}/pin
        GET /api/tasks
        GET /api/tasks/{task_id}
        GET /api/tasks/{task_id}/diff
        GET /api/tokens
        DELETE /api/tokens/{token_id}
        POST /api/tokens/{token_id}/rotate
        POST /api/wait
        GET /api/worktrees
        GET /api/worktrees/checks
        GET /api/worktrees/disk
        GET /api/worktrees/overlaps
        GET /api/worktrees/progress
        GET /api/worktrees/preview
        GET /api/worktrees/{worktree_id}
        GET /api/worktrees/{worktree_id}/checks
        GET /api/worktrees/{worktree_id}/diff
        GET /api/worktrees/{worktree_id}/finish
        GET /api/worktrees/{worktree_id}/losses
    """,
    # Works with sessions, worktrees and boards, and decides approvals.
    "operator": """
        POST /api/agents/{name}/offer
        POST /api/approvals/{approval_id}
        POST /api/boards
        PATCH /api/boards/{board_id}
        DELETE /api/boards/{board_id}
        POST /api/checkpoints/{checkpoint_id}/restore
        POST /api/clones
        POST /api/clones/{clone_id}/cancel
        DELETE /api/policy/choices/{choice_id}
        POST /api/races/{race_id}/keep
        POST /api/repos
        PATCH /api/repos/{repo_id}
        DELETE /api/repos/{repo_id}
        PATCH /api/review-comments/{comment_id}
        DELETE /api/review-comments/{comment_id}
        POST /api/reviews/{kind}/{subject_id}/comments
        POST /api/reviews/{kind}/{subject_id}/send
        PUT /api/reviews/{kind}/{subject_id}/viewed
        POST /api/runs/{run_id}/preview
        POST /api/runs/{run_id}/stop
        POST /api/saved-prompts
        PATCH /api/saved-prompts/{name}
        DELETE /api/saved-prompts/{name}
        POST /api/schedules
        PATCH /api/schedules/{schedule_id}
        DELETE /api/schedules/{schedule_id}
        POST /api/schedules/{schedule_id}/run
        POST /api/sessions
        PATCH /api/sessions/{session_id}
        DELETE /api/sessions/{session_id}
        POST /api/sessions/{session_id}/archive
        POST /api/sessions/{session_id}/btw
        POST /api/sessions/{session_id}/catch-up
        PUT /api/sessions/{session_id}/budget
        POST /api/sessions/{session_id}/complete
        POST /api/sessions/{session_id}/fork
        POST /api/sessions/{session_id}/mode/apply
        POST /api/sessions/{session_id}/prompt
        POST /api/sessions/{session_id}/race
        POST /api/sessions/{session_id}/resume
        POST /api/sessions/{session_id}/seen
        POST /api/sessions/{session_id}/unseen
        POST /api/sessions/{session_id}/spawn
        POST /api/sessions/{session_id}/stop
        POST /api/sessions/{session_id}/terminal-command
        PUT /api/sessions/{session_id}/transcript
        PATCH /api/tasks/{task_id}
        DELETE /api/tasks/{task_id}
        POST /api/tasks/{task_id}/restore
        POST /api/tasks/{task_id}/retry
        POST /api/tour
        DELETE /api/tour
        POST /api/worktrees
        PATCH /api/worktrees/{worktree_id}
        DELETE /api/worktrees/{worktree_id}
        PATCH /api/worktrees/{worktree_id}/checks
        POST /api/worktrees/{worktree_id}/checks/refresh
        POST /api/worktrees/{worktree_id}/checks/send
        POST /api/worktrees/{worktree_id}/cleanup
        POST /api/worktrees/sweep
        POST /api/worktrees/{worktree_id}/commit
        POST /api/worktrees/{worktree_id}/merge
        POST /api/worktrees/{worktree_id}/merge/undo
        POST /api/worktrees/{worktree_id}/pull-request
        POST /api/worktrees/{worktree_id}/push
        POST /api/worktrees/{worktree_id}/recover
        POST /api/worktrees/{worktree_id}/runs
        POST /api/worktrees/{worktree_id}/setup
        POST /api/worktrees/{worktree_id}/update
        GET /api/workspace/folders
        GET /api/workspace/repos
    """,
    # Changes what others and agents may do, and what the server runs.
    "admin": """
        POST /api/agents
        DELETE /api/agents/{name}
        GET /api/audit
        GET /api/conversations
        POST /api/conversations/import
        POST /api/checkpoints/prune
        POST /api/mcp-servers
        PATCH /api/mcp-servers/{server_id}
        DELETE /api/mcp-servers/{server_id}
        POST /api/mcp-servers/{server_id}/test
        POST /api/policy/rules
        PATCH /api/policy/rules/{rule_id}
        DELETE /api/policy/rules/{rule_id}
        POST /api/presets
        PATCH /api/presets/{preset_id}
        DELETE /api/presets/{preset_id}
        PATCH /api/repos/{repo_id}/git
        PATCH /api/repos/{repo_id}/config
        POST /api/tokens
        POST /api/tokens/rotate
        GET /api/terminals
        POST /api/terminals
        DELETE /api/terminals/{terminal_id}
        WS /api/terminals/attach
        GET /api/users
        POST /api/users
        PATCH /api/users/{name}
        DELETE /api/users/{name}
    """,
}
ROUTES: dict[str, Needed] = {
    line.strip(): role for role, lines in _ROUTES.items() for line in lines.strip().split("\n")
}

# Bough's tools, for people who call them with their own token.
_TOOLS: dict[Role, tuple[str, ...]] = {
    "viewer": (
        "get_session_status",
        "list_sessions",
        "get_current_session_id",
        "agor_sessions_get",
        "agor_sessions_get_current",
        "agor_sessions_list",
        "agor_sessions_wait",
        "agor_tasks_get",
        "agor_tasks_list",
        "agor_messages_list",
        "agor_search",
        "agor_worktrees_list",
        "agor_worktrees_get",
        "agor_worktrees_run_log",
        "agor_repos_list",
        "agor_boards_list",
        "agor_schedules_list",
        "agor_mcp_servers_list",
        "agor_presets_list",
        "agor_agents_list",
    ),
    "operator": (
        "create_session",
        "send_to_session",
        "agor_sessions_prompt",
        "agor_sessions_spawn",
        "agor_sessions_create",
        "agor_sessions_update",
        "agor_sessions_stop",
        "agor_worktrees_create",
        "agor_worktrees_update",
        "agor_worktrees_commit",
        "agor_worktrees_update_branch",
        "agor_worktrees_run",
        "agor_worktrees_merge",
        "agor_worktrees_push",
        "agor_worktrees_pull_request",
        "agor_schedules_create",
        "agor_schedules_remove",
    ),
}
TOOLS: dict[str, Role] = {name: role for role, names in _TOOLS.items() for name in names}

# Requests and notifications of editors. A viewer's editor is not asked for approvals.
EDITOR_METHODS: dict[str, Role] = {
    "initialize": "viewer",
    "authenticate": "viewer",
    "session/list": "viewer",
    "session/load": "viewer",
    "session/resume": "viewer",
    "session/close": "viewer",
    "session/new": "operator",
    "session/fork": "operator",
    "session/delete": "operator",
    "session/prompt": "operator",
    "session/cancel": "operator",
    "session/set_mode": "operator",
    "session/set_config_option": "operator",
}


def check_route(caller: Caller | None, method: str, template: str) -> None:
    """Raises unless a person may use a route, which is named by its method (`WS` for sockets) and path template."""
    # The methods of an address are no secret from anybody who may read.
    needed = "viewer" if method == "OPTIONS" else ROUTES.get(f"{method} {template}")
    if needed == ANYBODY:
        return
    if caller is None:
        raise Unauthenticated("unauthenticated", "This needs the server's token or yours.")
    if needed is None:
        raise Denied("not_decided", f"No role is defined for {method} {template}. This is a bug; please report it.")
    caller.require(needed, f"use {method} {template}")


def check_tool(caller: Caller, name: str) -> None:
    """Raises unless a person may call a tool."""
    _check(caller, TOOLS.get(name), f"call {name}")


def check_editor_method(caller: Caller, method: str) -> None:
    """Raises unless a person's editor may use a method of the protocol."""
    _check(caller, EDITOR_METHODS.get(method), f"use {method}")


def _check(caller: Caller, needed: Role | None, action: str) -> None:
    if caller.kind != "person":
        return
    if needed is None:
        raise Denied("not_decided", f"No role is defined to {action}. This is a bug; please report it.")
    caller.require(needed, action)
