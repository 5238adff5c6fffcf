"""Tests `bough doctor` with agents that a server left running: listed, ended, and their turns resumed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bough.agents.keeper.process_tree import find
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from tests.api.cli.cli_program import Result, run_here
from tests.support.eventually import eventually
from tests.support.server import Running, serving


@dataclass
class Left:
    """A turn whose server was killed."""

    folder: Path
    data: Path
    session_id: str
    task_id: str

    async def cli(self, *arguments: str) -> Result:
        return await asyncio.to_thread(run_here, ["--data", str(self.data), *arguments])

    async def doctor(self) -> dict[str, Any]:
        return json.loads((await self.cli("doctor", "--json")).out)


async def _begun(server: Running) -> tuple[str, str]:
    """Starts a turn that runs a command for longer than any test."""
    repo = await server.client.repo(server.repo())
    session = await server.client.session(repo["id"], title="first", permissionMode="bypassPermissions")
    async with server.client.events(session["id"]) as events:
        task = await server.client.prompt(session["id"], "[[say begun]] [[run sleep 300]]")
        await events.until(lambda event: event["type"] == "message.created" and _is_tool(event["data"]))
    return session["id"], task


def _is_tool(message: dict[str, Any]) -> bool:
    return message["content"]["type"] == "tool"


@pytest.fixture
async def left(tmp_path: Path) -> AsyncGenerator[Left]:
    async with serving(tmp_path, stop_agents=False) as server:
        session_id, task_id = await _begun(server)
    yield Left(tmp_path, server.data, session_id, task_id)
    keepers = KeeperLauncher(server.data / "keepers")
    for name in keepers.names():
        await keepers.drop(name)


async def _gone(pid: int) -> None:
    """Waits until a process that is not our child has ended."""
    await eventually(lambda: not find(pid), f"process {pid} has ended")


async def test_leftover_keepers_are_listed(left: Left) -> None:
    """O5: `doctor` names the running keeper, its processes, its session and its task, and says how to continue."""
    report = await left.doctor()
    (held,) = report["keepers"]
    assert (held["alive"], held["sessionId"], held["taskId"]) == (True, left.session_id, left.task_id)
    assert held["taskStatus"] == "running" and len(held["processes"]) >= 2
    assert all(find(pid) for pid in (held["pid"], *held["processes"]))
    check = next(check for check in report["checks"] if check["name"] == "keeper")
    assert check["state"] == "warning" and f"session {left.session_id[-8:]} (first)" in check["text"]
    assert f"bough serve --data {left.data}" in check["fix"] and f"doctor --clean --data {left.data}" in check["fix"]
    assert report["problems"] == 0


async def test_clean_ends_them_and_the_turn_resumes(left: Left) -> None:
    """O5: `doctor --clean` ends keeper, agent and command and says so; the interrupted turn resumes with the next
    server."""
    (held,) = (await left.doctor())["keepers"]
    ended = await left.cli("doctor", "--clean")
    assert ended.code == 0 and ended.err == "The next server resumes the interrupted turns.\n"
    assert ended.out.startswith("Ended ") and f"task {left.task_id[-8:]} running." in ended.out
    assert not any(find(pid) for pid in (held["pid"], *held["processes"]))
    assert (await left.doctor())["keepers"] == []
    assert json.loads((await left.cli("doctor", "--clean", "--json")).out) == {"ended": [], "left": []}
    assert (await left.cli("doctor", "--clean")).out == "No agents were left running.\n"
    async with serving(left.folder) as server:
        async with server.client.events(left.session_id, cursor=0) as events:
            await events.until(lambda event: event.get("data", {}).get("status") == "interrupted")
        task = await server.client.wait_task(left.task_id)
        assert (task["status"], task["attempt"]) == ("completed", 2)
        assert "begun" in await server.client.texts(left.session_id, "agent")


async def test_clean_ends_what_a_killed_keeper_left(left: Left) -> None:
    """O5: Processes that the agent of a killed keeper started are found by their mark, listed and ended."""
    (held,) = (await left.doctor())["keepers"]
    # A stopped process cannot notice that its connection is closed; otherwise the agent would exit by itself.
    os.kill(held["processes"][-1], signal.SIGSTOP)
    os.kill(held["pid"], signal.SIGKILL)
    await _gone(held["pid"])
    report = await left.doctor()
    (orphans,) = report["keepers"]
    assert (orphans["alive"], orphans["pid"], orphans["processes"]) == (False, None, held["processes"])
    assert "is dead" in report["checks"][-1]["text"] and report["checks"][-1]["state"] == "warning"
    assert (await left.cli("doctor", "--clean")).code == 0
    assert not any(find(pid) for pid in held["processes"])
    assert (await left.doctor())["keepers"] == []


async def test_a_running_server_keeps_its_agents(left: Left) -> None:
    """O5: While a server runs, its keepers are listed as its own, and `--clean` is refused."""
    async with serving(left.folder):
        report = await left.doctor()
        (held,) = report["keepers"]
        assert [check["state"] for check in report["checks"] if check["name"] == "keeper"] == ["ok"]
        refused = await left.cli("doctor", "--clean", "--json")
        assert refused.code == 1 and json.loads(refused.out)["error"]["code"] == "server_runs"
        assert find(held["pid"]) and len(refused.err.splitlines()) == 1
        assert (await left.cli("doctor", "--clean", "--url", "http://127.0.0.1:1")).code == 2


async def test_clean_creates_nothing(tmp_path: Path) -> None:
    """O5: If the data folder does not exist, nothing is ended and nothing is created."""
    ended = run_here(["doctor", "--clean", "--data", str(tmp_path / "data")])
    assert (ended.code, ended.out) == (0, "No agents were left running.\n")
    assert not (tmp_path / "data").exists()


async def test_stop_agents_leaves_nothing(tmp_path: Path) -> None:
    """L2: A server with `stop_agents` ends its agents when it stops; the turn resumes with the next server."""
    async with serving(tmp_path, stop_agents=True) as server:
        session_id, task_id = await _begun(server)
        left = Left(tmp_path, server.data, session_id, task_id)
        (held,) = (await left.doctor())["keepers"]
    assert not any(find(pid) for pid in (held["pid"], *held["processes"]))
    async with serving(tmp_path) as server:
        assert (await server.client.wait_task(task_id))["attempt"] == 2
