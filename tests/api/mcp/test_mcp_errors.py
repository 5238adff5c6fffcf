"""Tests that errors of tools tell a model how to correct its call."""

from __future__ import annotations

from typing import Any

import pytest

from bough.model.session import MODES
from tests.api.mcp.mcp_client import Mcp, opened
from tests.support.server import Running

NOBODY = "00000000-0000-7000-8000-000000000000"
PROMPT = {"sessionId": NOBODY, "prompt": "hi", "mode": "continue"}

# Tool, arguments, and the start of the error.
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("agor_sessions_prompt", {}, "sessionId is missing."),
    ("agor_sessions_prompt", {"sessionId": NOBODY, "prompt": None, "mode": "fork"}, "prompt is missing."),
    ("agor_sessions_prompt", PROMPT | {"session_id": "x"}, "no argument session_id; did you mean sessionId?"),
    ("agor_sessions_prompt", PROMPT | {"agent": "codex"}, "There is no argument agent"),
    ("agor_sessions_prompt", PROMPT | {"sessionId": 5}, "sessionId must be a text, not a whole number."),
    ("agor_sessions_prompt", PROMPT | {"title": ["x"]}, "title must be a text, not a list."),
    (
        "agor_sessions_prompt",
        PROMPT | {"mode": "append"},
        "mode cannot be 'append': it is one of btw, continue, fork, subsession.",
    ),
    (
        "agor_sessions_create",
        {"worktreeId": NOBODY, "agenticTool": "demo", "permissionMode": "yolo"},
        f"permissionMode cannot be 'yolo': it is one of {', '.join(sorted(MODES))}.",
    ),
    (
        "agor_sessions_create",
        {"worktreeId": NOBODY, "agenticTool": "demo", "contextFiles": ["a", 1]},
        "contextFiles[1] must be a text, not a whole number.",
    ),
    ("agor_sessions_spawn", {"prompt": "x", "modelConfig": "small"}, "modelConfig must be an object, not a text."),
    (
        "agor_sessions_spawn",
        {"prompt": "x", "modelConfig": {"modle": "small"}},
        "There is no argument modle in modelConfig; did you mean model?",
    ),
    ("agor_sessions_spawn", {"prompt": "x", "enableCallback": "yes"}, "enableCallback must be true or false"),
    ("agor_sessions_list", {"limit": 0}, "limit must be at least 1."),
    ("agor_sessions_list", {"limit": 1000}, "limit must be at most 200."),
    ("agor_sessions_list", {"status": "active"}, "status cannot be 'active': it is one of cancelled, completed,"),
    ("agor_sessions_wait", {"timeoutSeconds": "10"}, "timeoutSeconds must be a number, not a text."),
    ("create_session", {"name": "x", "workingDir": "/x", "worktree": {}}, "branch is missing in worktree."),
    ("get_current_session_id", {"limit": 5}, "There is no argument limit. get_current_session_id takes no arguments."),
    ("list_sessions", {"limit": 1000}, "limit must be at most 200."),
]


async def test_arguments(mcp: Mcp) -> None:
    """5a, 5b: Names a wrong type, an unknown or missing argument or an invalid value, and lists all arguments of the
    tool."""
    for tool, arguments, sentence in WRONG:
        text = await mcp.refused(tool, "bad_arguments", **arguments)
        assert sentence in text, text
        for name in (await mcp.tools())[tool]["inputSchema"]["properties"]:
            assert name in text


@pytest.mark.parametrize("mode", ["continue", "btw"])
async def test_arguments_of_another_mode(mcp: Mcp, mode: str) -> None:
    """5a: Refuses an argument that only a new session can have, and names the mode that accepts it."""
    arguments = PROMPT | {"mode": mode}
    text = await mcp.refused("agor_sessions_prompt", "bad_arguments", **arguments, taskId=NOBODY)
    assert "mode fork" in text


async def test_arguments_of_a_new_session(mcp: Mcp) -> None:
    """5a: Refuses a prompt that would change the session itself, and names the tool that does that."""
    arguments = PROMPT | {"mode": "continue"}
    for more in ({"title": "x"}, {"agenticTool": "demo"}, {"permissionMode": "plan"}):
        text = await mcp.refused("agor_sessions_prompt", "bad_arguments", **arguments, **more)
        assert "agor_sessions_update" in text
    text = await mcp.refused("agor_sessions_prompt", "bad_arguments", **arguments, callback=True)
    assert "agor_sessions_wait" in text


async def test_omitted_arguments_may_be_null(server: Running, mcp: Mcp) -> None:
    """5a: Accepts null for every argument that can be omitted."""
    session = await opened(server)
    nothing = dict.fromkeys(("agenticTool", "permissionMode", "title", "taskId", "callback", "idempotencyKey"))
    arguments = {"sessionId": session["id"], "prompt": "[[say on]]", "mode": "continue"}
    done = await mcp.call("agor_sessions_prompt", **arguments, **nothing)
    assert (await server.client.wait_task(done["taskId"]))["status"] == "completed"


async def test_unknown_ids(server: Running, mcp: Mcp) -> None:
    """5a, R5: An unknown or invalid id is an error that says where to look."""
    session = await opened(server)
    for tool, code, arguments, hint in (
        ("agor_sessions_prompt", "session_not_found", PROMPT, "agor_sessions_list"),
        ("agor_sessions_update", "session_not_found", {"sessionId": NOBODY, "title": "x"}, "agor_sessions_list"),
        ("agor_sessions_stop", "session_not_found", {"sessionId": NOBODY}, "agor_sessions_list"),
        ("agor_sessions_stop", "task_not_found", {"sessionId": session["id"], "expectedTaskId": NOBODY}, "tasks_list"),
        ("agor_sessions_get", "bad_id", {"sessionId": "one"}, "at least 8 characters"),
        ("agor_worktrees_get", "worktree_not_found", {"worktreeId": NOBODY}, "agor_worktrees_list"),
        ("agor_worktrees_create", "repo_not_found", {"repoId": NOBODY, "branch": "b"}, "agor_repos_list"),
        (
            "agor_sessions_create",
            "mcp_server_not_found",
            {"worktreeId": session["repoId"], "agenticTool": "demo", "mcpServerIds": [NOBODY]},
            "agor_mcp_servers_list",
        ),
        (
            "agor_sessions_prompt",
            "unknown_agent",
            {"sessionId": session["id"], "prompt": "x", "mode": "fork", "agenticTool": "nobody"},
            "codex",
        ),
        (
            "agor_sessions_create",
            "unknown_agent",
            {"worktreeId": session["repoId"], "agenticTool": "claude"},
            "claude-code",
        ),
    ):
        text = await mcp.refused(tool, code, **arguments)
        assert hint in text, text


async def test_tasks_of_others(server: Running, mcp: Mcp) -> None:
    """5a: A fork starts at a task of its source; a task of another session is refused with where to look."""
    first, second = await opened(server), await opened(server)
    text = await mcp.refused(
        "agor_sessions_prompt",
        "task_of_other_session",
        sessionId=first["id"],
        prompt="x",
        mode="fork",
        taskId=second["taskId"],
    )
    assert second["id"] in text
    assert "agor_tasks_list" in text


async def test_nothing_to_do(server: Running, mcp: Mcp) -> None:
    """5a: Refuses an empty update and an empty prompt without asking anybody."""
    session = await opened(server)
    text = await mcp.refused("agor_sessions_update", "nothing_to_change", sessionId=session["id"])
    assert "title, description, status, permissionMode" in text
    for mode in ("continue", "fork", "subsession", "btw"):
        await mcp.refused("agor_sessions_prompt", "empty_prompt", sessionId=session["id"], prompt=" ", mode=mode)
    assert (await server.client.get(f"/api/sessions/{session['id']}/tasks"))["total"] == 1


async def test_an_unknown_tool(mcp: Mcp) -> None:
    """5a: A name that is nearly right is answered with the right one."""
    answer = (await mcp.post("tools/call", {"name": "agor_session_spawn", "arguments": {}})).json()
    assert "agor_sessions_spawn" in str(answer)
