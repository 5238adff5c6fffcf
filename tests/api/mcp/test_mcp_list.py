"""Tests the list of tools: complete, the same at every start, and short enough for a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from bough.core.store.sql import EVENTS
from tests.api.mcp.mcp_client import Json, Mcp, agent_of, opened, person
from tests.support.server import Running, serving

# In the order of SPEC 5a, then 5b.
CHANGING = (
    "agor_sessions_prompt",
    "agor_sessions_create",
    "agor_sessions_spawn",
    "agor_sessions_update",
    "agor_sessions_stop",
)
READING = (
    "agor_sessions_get",
    "agor_sessions_get_current",
    "agor_sessions_list",
    "agor_sessions_wait",
    "agor_tasks_get",
    "agor_tasks_list",
    "agor_messages_list",
    "agor_search",
)
PLACES = (
    "agor_worktrees_list",
    "agor_worktrees_get",
    "agor_worktrees_create",
    "agor_worktrees_update",
    "agor_repos_list",
    "agor_boards_list",
    "agor_mcp_servers_list",
)
FINISHING = (
    "agor_worktrees_commit",
    "agor_worktrees_update_branch",
    "agor_worktrees_merge",
    "agor_worktrees_push",
    "agor_worktrees_pull_request",
)
RUNS = ("agor_worktrees_run", "agor_worktrees_run_log")
SCHEDULES = ("agor_schedules_list", "agor_schedules_create", "agor_schedules_remove")
PRESETS = ("agor_presets_list",)
AGENTS = ("agor_agents_list",)
PLAIN = ("create_session", "send_to_session", "get_session_status", "list_sessions", "get_current_session_id")
# About four characters make a token.
MOST_TOKENS = 7_500
LONGEST_ABOUT = 260

# The parameters of each tool as in SPEC 5a and seed 001; ? marks an optional one.
TAKES = {
    "agor_sessions_prompt": "sessionId prompt mode agenticTool? preset? permissionMode? title? taskId? callback? when?",
    "agor_sessions_create": "worktreeId agenticTool? preset? title? description? permissionMode? contextFiles? "
    "mcpServerIds? initialPrompt? enableCallback? boardId? x? y?",
    "agor_sessions_spawn": "prompt title? agenticTool? preset? permissionMode? modelConfig? mcpServerIds? taskId? "
    "enableCallback? includeLastMessage? includeOriginalPrompt? extraInstructions? worktreeId?",
    "agor_sessions_update": "sessionId title? description? status? permissionMode?",
    "agor_sessions_get": "sessionId",
    "agor_sessions_get_current": "",
    "agor_sessions_list": "worktreeId? status? limit? offset?",
    "agor_sessions_stop": "sessionId expectedTaskId?",
    "agor_sessions_wait": "taskIds? sessionIds? mode? timeoutSeconds?",
    "agor_tasks_get": "taskId",
    "agor_tasks_list": "sessionId status? limit? offset?",
    "agor_messages_list": "sessionId? taskId? limit? offset? search?",
    "agor_search": "query sessionId? limit? offset?",
    "agor_worktrees_list": "repoId? limit? offset?",
    "agor_worktrees_get": "worktreeId",
    "agor_worktrees_create": "repoId branch path? base?",
    "agor_worktrees_update": "worktreeId boardId? x? y? notes?",
    "agor_repos_list": "limit? offset?",
    "agor_boards_list": "limit? offset?",
    "agor_mcp_servers_list": "limit? offset?",
    "agor_worktrees_commit": "worktreeId message files? dryRun?",
    "agor_worktrees_update_branch": "worktreeId how? dryRun?",
    "agor_worktrees_merge": "worktreeId how? dryRun?",
    "agor_worktrees_push": "worktreeId dryRun?",
    "agor_worktrees_pull_request": "worktreeId title? body? draft? dryRun?",
    "agor_worktrees_run": "worktreeId name",
    "agor_worktrees_run_log": "worktreeId name?",
    "agor_schedules_list": "sessionId? limit? offset?",
    "agor_schedules_create": "prompt cron? at? timezone? title? sessionId? worktreeId? agenticTool? preset? "
    "permissionMode?",
    "agor_schedules_remove": "scheduleId",
    "agor_presets_list": "limit? offset?",
    "agor_agents_list": "agenticTool? limit? offset?",
    "create_session": "name workingDir worktree? initialMessage? permissionMode? agent? preset? enableCallback?",
    "send_to_session": "sessionId message when?",
    "get_session_status": "sessionId",
    "list_sessions": "limit? offset?",
    "get_current_session_id": "",
}


async def test_the_list_is_the_same_at_every_start(tmp_path: Path) -> None:
    """5c: The list is byte for byte the same on two servers, and for a person and a session."""
    seen: set[bytes] = set()
    for name in ("one", "two"):
        async with serving(tmp_path / name) as server:
            seen.add((await person(server).post("tools/list", {})).content)
            seen.add((await person(server).post("tools/list", {})).content)
            agent = await agent_of(server, await opened(server))
            seen.add((await agent.post("tools/list", {})).content)
    assert len(seen) == 1


async def test_all_tools_are_listed(mcp: Mcp) -> None:
    """5a, 5b: Lists every tool of both sections in a fixed order."""
    assert tuple(await mcp.tools()) == (
        *CHANGING,
        *READING,
        *PLACES,
        *FINISHING,
        *RUNS,
        *SCHEDULES,
        *PRESETS,
        *AGENTS,
        *PLAIN,
    )


async def test_the_list_is_short(mcp: Mcp) -> None:
    """5c: The whole list takes less than 7,500 tokens of a model's context, and every description is short."""
    answer = await mcp.post("tools/list", {})
    assert len(answer.text) / 4 < MOST_TOKENS
    for name, tool in (await mcp.tools()).items():
        assert 10 < len(tool["description"]) <= LONGEST_ABOUT, name


async def test_parameters_of_tools(mcp: Mcp) -> None:
    """5a, 5b: Each tool has the parameters of the contract, the right ones are optional, and a changing tool takes a
    key."""
    tools = await mcp.tools()
    for name, tool in tools.items():
        schema = tool["inputSchema"]
        Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        required: list[str] = schema.get("required", [])
        parameters = {f"{property}{'' if property in required else '?'}" for property in schema["properties"]}
        keyed = set[str]() if tool["annotations"]["readOnlyHint"] else {"idempotencyKey?"}
        assert parameters == set(TAKES[name].split()) | keyed, name


async def test_results_of_tools_have_schemas(mcp: Mcp) -> None:
    """5c: Every tool has a schema for its result; all lists have the same shape."""
    schemas: dict[str, Json] = {name: tool["outputSchema"] for name, tool in (await mcp.tools()).items()}
    for schema in schemas.values():
        Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    lists = {name for name in schemas if name.startswith("agor_") and name.endswith("_list")}
    assert lists
    for name in lists:
        assert set(schemas[name]["required"]) == {"data", "total", "limit", "offset"}, name


async def test_annotations(mcp: Mcp) -> None:
    """5c, 5d: Annotations mark tools that only read, tools that may delete, and idempotent tools."""
    tools = await mcp.tools()

    def having(hint: str) -> set[str]:
        return {name for name, tool in tools.items() if tool["annotations"][hint]}

    creating = {
        *CHANGING,
        *FINISHING,
        *SCHEDULES[1:],
        RUNS[0],
        "agor_worktrees_create",
        "agor_worktrees_update",
        "create_session",
        "send_to_session",
    }
    assert having("readOnlyHint") == set(tools) - creating
    assert having("destructiveHint") == {"agor_sessions_stop", "agor_schedules_remove"}
    twice = {"agor_sessions_update", "agor_sessions_stop", "agor_worktrees_update"}
    assert having("idempotentHint") == having("readOnlyHint") | twice
    assert having("openWorldHint") == set()


async def test_reading_changes_nothing(server: Running) -> None:
    """5d: A tool that is marked as read-only changes nothing and needs no approval."""
    repo = await server.client.repo(server.repo())
    own = await server.client.post("/api/worktrees", {"repoId": repo["id"], "branch": "side"})
    session = await opened(server, mode="plan", worktreeId=own["id"])
    agent = await agent_of(server, session)
    run = await server.client.post(f"/api/worktrees/{own['id']}/runs", {"command": "true"})
    await server.client.eventually(lambda: has_ended(server, run))
    arguments: dict[str, Json] = {
        "agor_sessions_get": {"sessionId": session["id"]},
        "agor_sessions_wait": {"taskIds": [session["taskId"]]},
        "agor_tasks_get": {"taskId": session["taskId"]},
        "agor_tasks_list": {"sessionId": session["id"]},
        "agor_messages_list": {"sessionId": session["id"], "search": "ready"},
        "agor_search": {"query": "ready"},
        "agor_worktrees_get": {"worktreeId": own["id"]},
        "agor_worktrees_run_log": {"worktreeId": own["id"]},
        "get_session_status": {"sessionId": session["id"]},
    }
    before = await traces(server)
    tools = await agent.tools()
    for name in (name for name, tool in tools.items() if tool["annotations"]["readOnlyHint"]):
        assert await agent.call(name, **arguments.get(name, {}))
    assert await traces(server) == before
    assert (await server.client.get("/api/approvals"))["total"] == 0


async def has_ended(server: Running, run: Json) -> bool:
    return (await server.client.get(f"/api/runs/{run['id']}"))["state"] == "exited"


async def traces(server: Running) -> tuple[Any, Json]:
    """Returns the newest event and the recorded calls."""
    cursor = await server.services.store.read(lambda tx: tx.value(EVENTS.newest))
    return cursor, await server.client.get("/api/sessions")
