"""Tests the tools that send a prompt into a running turn, or stop the turn for it."""

from __future__ import annotations

import pytest

from tests.api.mcp.mcp_client import Json, Mcp, agent_of, by_agent, opened
from tests.support.server import Running


async def _hanging(server: Running) -> tuple[Json, str]:
    """Opens a session with a turn that does not end, and returns it with the task."""
    session = await opened(server)
    task = await server.client.prompt(session["id"], "[[hang]]")
    await server.client.wait_task(task, "running")
    return session, task


@pytest.mark.parametrize("tool", ["agor_sessions_prompt", "send_to_session"])
async def test_send_now(server: Running, mcp: Mcp, tool: str) -> None:
    """Q8, 5a, 5b: Both tools put a prompt into the running turn, or stop the turn and send it first."""
    session, turn = await _hanging(server)
    arguments = {"prompt": "more", "mode": "continue"} if tool == "agor_sessions_prompt" else {"message": "more"}
    sent = await mcp.call(tool, sessionId=session["id"], when="now", **arguments)
    task = await server.client.wait_task(sent["taskId"])
    assert (task["stopReason"], task["steersTaskId"]) == ("steered", turn)
    stopped = await mcp.call(tool, sessionId=session["id"], when="after_stop", **arguments)
    assert (await server.client.wait_task(stopped["taskId"]))["status"] == "completed"
    assert (await server.client.get(f"/api/tasks/{turn}"))["status"] == "cancelled"


async def test_a_parent_steers_its_child(server: Running) -> None:
    """Q8, 5d: A session steers its child; the child's agent is told that no person wrote it."""
    parent = await opened(server)
    client = server.client
    spawned = await by_agent(client, parent, "agor_sessions_spawn", prompt="[[hang]]")
    child = spawned["sessionId"]
    await client.wait_task(spawned["taskId"], "running")
    sent = await by_agent(
        client, parent, "agor_sessions_prompt", sessionId=child, prompt="[[recall]]", mode="continue", when="now"
    )
    task = await client.wait_task(sent["taskId"])
    assert (task["source"], task["sourceSessionId"], task["stopReason"]) == ("session", parent["id"], "steered")

    async def recalled() -> bool | None:
        return any("written by the agent of another session" in text for text in await client.texts(child)) or None

    await client.eventually(recalled)


async def test_refusals(server: Running, mcp: Mcp) -> None:
    """Q8: Only a prompt to the session itself can say when, and no session can stop its own turn for a prompt."""
    session, _ = await _hanging(server)
    text = await mcp.refused(
        "agor_sessions_prompt", "bad_arguments", sessionId=session["id"], prompt="x", mode="fork", when="now"
    )
    assert "mode continue" in text
    agent = await agent_of(server, session)
    arguments = {"sessionId": session["id"], "prompt": "x", "mode": "continue", "when": "after_stop"}
    assert "your own turn" in await agent.refused("agor_sessions_prompt", "bad_arguments", **arguments)
