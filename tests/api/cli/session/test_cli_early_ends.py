"""Tests that the command line distinguishes early ends from success, and reports a silent agent."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.api.cli.session.follow import silence
from tests.api.cli.cli_program import Cli, run_here
from tests.core.helpers import misbehaving, open_session
from tests.support.eventually import eventually
from tests.support.server import Running, serving


def tool(status: str) -> dict[str, Any]:
    content = {"type": "tool", "result": {"status": status}}
    return {"type": "message.patched", "data": {"id": "m", "taskId": "t", "content": content}}


def task(status: str) -> dict[str, Any]:
    return {"type": "task.patched", "data": {"id": "t", "status": status}}


async def test_an_early_end_is_not_a_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """L4: `-f` exits with 1 and shows the reason if the agent ended its turn early."""
    misbehaving(tmp_path, "ends_early")
    async with serving(tmp_path) as server:
        monkeypatch.setenv("BOUGH_DATA", str(server.data))
        session = await open_session(server, agent="ends_early")
        early = await asyncio.to_thread(run_here, ["session", "prompt", session, "max_tokens", "-f"])
        assert early.code == 1 and "reached its limit of tokens" in early.err
        usual = await asyncio.to_thread(run_here, ["session", "prompt", session, "end_turn", "-f"])
        assert usual.code == 0


async def test_a_silent_agent_is_reported(
    server: Running, cli: Cli, session: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """O5: Following or showing a turn reports that the agent is silent, and since when."""
    monkeypatch.setattr(silence, "SILENT_AFTER", 0.3)

    task_id = await server.client.prompt(session["id"], "[[say begun]] [[hang]]")

    async def shows_silence() -> bool:
        return "The agent has been silent since " in (await cli("session", "show", session["id"])).out

    await eventually(shows_silence, "the silence is shown")
    await server.client.post(f"/api/sessions/{session['id']}/stop")
    await server.client.wait_task(task_id)
    followed = await cli("session", "prompt", session["id"], "[[slow 2 2]]", "-f")
    assert "The agent has been silent since " in followed.out


def test_a_running_tool_does_not_count_as_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: An agent that waits for its own command, or whose turn does not run, is not called silent."""
    monkeypatch.setattr(silence, "SILENT_AFTER", 0.0)
    watch = silence.SilenceWatch()
    assert watch.left() is None
    watch.take(task("running"))
    assert watch.left() == 0.0
    watch.take(tool("in_progress"))
    assert watch.left() is None
    watch.take(tool("completed"))
    assert str(watch.notice()).startswith("The agent has been silent since ")
    assert watch.notice() is None
    watch.take(task("waiting_permission"))
    assert watch.left() is None
