"""Tests turns whose agent dies, and what each setting of `on_interrupt` does then."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import psutil

from tests.core.helpers import messages, open_session
from tests.support.client import Client
from tests.support.server import Running, serving

Json = dict[str, Any]


async def kill_agent(server: Running, task_id: str) -> None:
    """Kills the only agent of a server during a turn, and everything that it started."""
    await server.client.wait_task(task_id, "running", "waiting_permission")
    mark = f"{server.data}/demo"
    agents = [item.pid for item in psutil.process_iter() if mark == _environment(item).get("BOUGH_DEMO_HOME")]
    assert agents
    for pid in agents:
        # Its keeper ends the rest as soon as the first process is dead.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


def is_tool(message: Json) -> bool:
    return message["content"]["type"] == "tool"


async def held(server: Running) -> tuple[str, str, str]:
    """Returns a session with a held turn, that turn, and a prompt that is queued behind it."""
    client = server.client
    session = await open_session(server)
    task = await client.prompt(session, "[[slow 20 20]]")
    behind = await client.prompt(session, "[[say behind]]")
    await kill_agent(server, task)
    interrupted = await client.wait_task(task, "interrupted")
    while not interrupted["held"]:
        interrupted = await client.get(f"/api/tasks/{task}")
    return session, task, behind


async def both_end(client: Client, task: str, behind: str) -> tuple[Json, Json]:
    return await client.wait_task(task), await client.wait_task(behind)


async def test_an_interrupted_turn_continues_by_default(tmp_path: Path) -> None:
    """O2: The same task has its next attempt, as a continuation; open tool calls are closed, and the transcript says
    why."""
    async with serving(tmp_path) as server:
        session = await open_session(server, permissionMode="bypassPermissions")
        async with server.client.events(session) as events:
            task = await server.client.prompt(session, "[[run sleep 20]]")
            await events.until(lambda event: event["type"] == "message.created" and is_tool(event["data"]))
        await kill_agent(server, task)
        ended = await server.client.wait_task(task)
        assert (ended["status"], ended["attempt"]) == ("completed", 2)
        [tool] = await messages(server.client, session, "tool")
        assert tool["result"]["status"] == "failed" and "may or may not" in tool["result"]["note"]
        [error] = await messages(server.client, session, "error")
        assert error["text"].endswith("It is started again and told to continue.")


async def test_hold_waits_until_the_session_is_resumed(tmp_path: Path) -> None:
    """O2, T6: With `hold` nothing runs until resume, not even prompts that are queued behind the turn."""
    async with serving(tmp_path, on_interrupt="hold") as server:
        session, task, behind = await held(server)
        waiting = await server.client.get(f"/api/tasks/{behind}")
        assert waiting["status"] == "queued"
        await server.client.post(f"/api/sessions/{session}/complete", expect=409)
        await server.client.post(f"/api/sessions/{session}/resume")
        ended, after = await both_end(server.client, task, behind)
        assert (ended["status"], ended["attempt"], ended["held"]) == ("completed", 2, False)
        assert after["status"] == "completed"


async def test_a_stop_ends_a_held_turn(tmp_path: Path) -> None:
    """T6: Stopping an interrupted turn ends it at once, and pauses the queue like any stop."""
    async with serving(tmp_path, on_interrupt="hold") as server:
        session, task, behind = await held(server)
        stopped = await server.client.post(f"/api/sessions/{session}/stop")
        assert stopped["task"]["id"] == task
        assert (stopped["task"]["status"], stopped["task"]["stopReason"]) == ("cancelled", "interrupted")
        assert (await server.client.get(f"/api/tasks/{behind}"))["status"] == "queued"
        await server.client.post(f"/api/sessions/{session}/resume")
        assert (await server.client.wait_task(behind))["status"] == "completed"


async def test_ask_and_continue(tmp_path: Path) -> None:
    """O2, P4: With `ask` a person finds the question in the inbox; yes starts the next attempt."""
    async with serving(tmp_path, on_interrupt="ask") as server:
        session, task, behind = await held(server)
        question = await server.client.approval(session)
        assert (question["taskId"], question["toolKind"]) == (task, "interrupted")
        assert (await server.client.get(f"/api/sessions/{session}"))["activity"] == "waiting_permission"
        await server.client.post(f"/api/approvals/{question['id']}", {"decision": "allow"})
        ended, after = await both_end(server.client, task, behind)
        assert (ended["status"], ended["attempt"]) == ("completed", 2)
        assert after["status"] == "completed"


async def test_ask_and_drop(tmp_path: Path) -> None:
    """O2: No ends the task, and the queue continues."""
    async with serving(tmp_path, on_interrupt="ask") as server:
        session, task, behind = await held(server)
        question = await server.client.approval(session)
        await server.client.post(f"/api/approvals/{question['id']}", {"optionId": "drop"})
        ended, after = await both_end(server.client, task, behind)
        assert (ended["status"], ended["stopReason"], ended["attempt"]) == ("cancelled", "interrupted", 1)
        assert after["status"] == "completed"


async def test_a_question_is_withdrawn_when_the_session_continues_or_ends(tmp_path: Path) -> None:
    """P4: A resume or the session's end withdraws the question; no approval is orphaned."""
    async with serving(tmp_path, on_interrupt="ask") as server:
        session, task, _ = await held(server)
        question = await server.client.approval(session)
        await server.client.post(f"/api/sessions/{session}/resume")
        assert (await server.client.wait_task(task))["status"] == "completed"
        assert (await server.client.get(f"/api/approvals/{question['id']}"))["status"] == "cancelled"
        other, _, _ = await held(server)
        question = await server.client.approval(other)
        await server.client.call("DELETE", f"/api/sessions/{other}")
        assert (await server.client.get(f"/api/approvals/{question['id']}"))["status"] == "cancelled"
