"""C2: Proves interoperability: acpx, a client by other authors for any agent, drives `bough acp` from a shell as it
drives agents."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.real_agents.helpers.agent_processes import behind_server, is_spoken
from tests.real_agents.helpers.agent_under_test import FULL, Json
from tests.real_agents.helpers.several_agents import leads
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.real_agents.homes import Home
from tests.support.real_agents.packages import PEERS, bin_folder, installed, node_program
from tests.support.scripted_model.running import ScriptedModel
from tests.support.server import ServerProcess

NAME = "acpx"
PATIENCE = 60
# How long acpx's background process waits for the next call.
STAYS = "60"
DENIED = 5
"""acpx exits with this after a turn in which it has allowed none of the requests."""


@dataclass
class Acpx:
    """acpx in a folder of its own, pointed at a server."""

    server: ServerProcess
    person: Client
    home: Path
    repo: Path

    async def run(self, *arguments: str, code: int = 0) -> list[Json]:
        """Makes one call and returns its output, which for a turn is every protocol message."""
        return await self.ended(await self.begin(*arguments), code)

    async def begin(self, *arguments: str) -> asyncio.subprocess.Process:
        node = node_program()
        assert node is not None
        path = os.pathsep.join((str(bin_folder(NAME)), str(node.parent), os.environ.get("PATH", os.defpath)))
        bough = f"{sys.executable} -m bough acp --data {self.server.data}"
        return await asyncio.create_subprocess_exec(
            *("acpx", "--agent", bough, "--cwd", str(self.repo), "--format", "json", "--ttl", STAYS, *arguments),
            env=os.environ | {"PATH": path, "HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            limit=1 << 24,
        )

    async def ended(self, process: asyncio.subprocess.Process, code: int = 0) -> list[Json]:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE)
        assert process.returncode == code, (process.returncode, out[-2000:], err[-2000:])
        return [msgspec.json.decode(line) for line in out.splitlines() if line.strip()]

    async def tell(self, *arguments: str) -> Json:
        """Makes a call that answers with one object."""
        (answer,) = await self.run(*arguments)
        return answer

    def processes(self) -> list[psutil.Process]:
        """Returns the processes that acpx started and left, by their common home."""
        processes: list[psutil.Process] = []
        for item in psutil.process_iter():
            with suppress(psutil.Error):
                if item.environ().get("HOME") == str(self.home):
                    processes.append(item)
        return processes


@asynccontextmanager
async def driving(server: ServerProcess, person: Client, place: Path, repo: Path) -> AsyncGenerator[Acpx]:
    """Yields acpx with a home of its own; afterwards nothing of it is left."""
    if not installed(NAME):
        pytest.skip(f"{NAME} {PEERS[NAME].version} is not installed: `make test-agents` does that")
    home = place / "acpx"
    home.mkdir()
    acpx = Acpx(server, person, home, repo)
    try:
        yield acpx
    finally:
        for process in acpx.processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        await eventually(lambda: not acpx.processes(), "the processes that acpx left have ended")


@pytest.fixture
async def acpx(place: Path, repo: Path) -> AsyncGenerator[Acpx]:
    """acpx with sessions of the demo agent."""
    server = ServerProcess(place / "data", place / "work", env={"BOUGH_DEFAULT_AGENT": "demo"})
    async with server, server.client() as person, driving(server, person, place, repo) as acpx:
        yield acpx


def said(wire: list[Json], kind: str = "agent_message_chunk") -> str:
    updates = [item["params"]["update"] for item in wire if item.get("method") == "session/update"]
    return "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] == kind)


def stop(wire: list[Json]) -> str:
    """Returns how the last turn ended."""
    return next(item["result"]["stopReason"] for item in reversed(wire) if "stopReason" in (item.get("result") or {}))


def asked(wire: list[Json]) -> list[Any]:
    """Returns the outcomes of the permission requests, in order."""
    ids = [item["id"] for item in wire if item.get("method") == "session/request_permission"]
    answers = [item for item in wire if "outcome" in (item.get("result") or {})]
    assert [answer["id"] for answer in answers] == ids
    return [answer["result"]["outcome"] for answer in answers]


async def test_one_prompt_with_a_question(acpx: Acpx) -> None:
    """C2, P4: Runs a turn without a session of its own; the action is carried out if it is allowed, and only then."""
    wire = await acpx.run("--approve-all", "exec", "[[run echo hi > hi.txt]] [[say allowed]]")
    assert (stop(wire), said(wire)) == ("end_turn", "allowed")
    assert [item["outcome"] for item in asked(wire)] == ["selected"]
    assert (acpx.repo / "hi.txt").read_text() == "hi\n"
    wire = await acpx.run("--deny-all", "exec", "[[run echo ho > ho.txt]] [[say denied]]", code=DENIED)
    assert (stop(wire), said(wire)) == ("end_turn", "denied")
    assert len(asked(wire)) == 1
    assert not (acpx.repo / "ho.txt").exists()
    statuses = (await acpx.person.get("/api/approvals?status=allowed,denied,pending"))["approvals"]
    assert sorted(status["status"] for status in statuses) == ["allowed", "denied"]


async def test_life_of_a_session(acpx: Acpx) -> None:
    """C2: Creates, prompts, lists, reads history, sets modes and options, cancels and closes."""
    session = (await acpx.tell("sessions", "new"))["acpxSessionId"]
    wire = await acpx.run("--approve-all", "[[run echo one > one.txt]] [[say first words]]")
    assert (stop(wire), said(wire), len(asked(wire))) == ("end_turn", "first words", 1)
    assert (acpx.repo / "one.txt").exists()

    listed = await acpx.tell("sessions", "list", "--filter-cwd", str(acpx.repo))
    assert (listed["source"], [entry["sessionId"] for entry in listed["sessions"]]) == ("agent", [session])
    assert listed["sessions"][0]["_meta"]["bough"]["agent"] == "demo"
    assert (await acpx.tell("sessions", "list", "--filter-cwd", str(acpx.home)))["sessions"] == []
    for way in ("history", "read"):
        entries = (await acpx.tell("sessions", way))["entries"]
        assert [entry["role"] for entry in entries] == ["user", "assistant"]
        assert "first words" in entries[1]["textPreview"]

    assert (await acpx.tell("set-mode", "bypassPermissions"))["modeId"] == "bypassPermissions"
    assert (await acpx.person.get(f"/api/sessions/{session}"))["permissionMode"] == "bypassPermissions"
    wire = await acpx.run("--deny-all", "[[run echo two > two.txt]]")
    assert asked(wire) == []
    assert (acpx.repo / "two.txt").exists()

    async with acpx.person.events(session) as events:
        turn = await acpx.begin("[[say hanging]] [[hang]]")
        await events.until(lambda event: is_spoken(event) and "hanging" in str(event["data"]))
    assert (await acpx.tell("cancel"))["cancelled"]
    assert stop(await acpx.ended(turn)) == "cancelled"
    tasks = (await acpx.person.get(f"/api/sessions/{session}/tasks"))["tasks"]
    assert sorted(task["status"] for task in tasks) == ["cancelled", "completed", "completed"]

    assert (await acpx.tell("sessions", "close"))["action"] == "session_closed"
    # Only acpx's record is closed; the session itself can be opened again.
    assert (await acpx.person.get(f"/api/sessions/{session}"))["status"] == "active"


@pytest.mark.skipif(not FULL, reason="FULL=1 includes slow tests")
async def test_a_closed_session_is_resumed(acpx: Acpx) -> None:
    """C2: Another process opens a closed session again and continues it."""
    session = (await acpx.tell("sessions", "new"))["acpxSessionId"]
    await acpx.run("[[say first words]]")
    await acpx.tell("sessions", "close")
    resumed = await acpx.tell("sessions", "new", "--resume-session", session)
    assert resumed["acpxSessionId"] == session
    wire = await acpx.run("[[say back]]")
    assert (stop(wire), said(wire)) == ("end_turn", "back")
    assert await acpx.person.texts(session) == ["first words", "back"]


@leads("codex")
async def test_with_a_real_agent(agent: str, home: Home, model: ScriptedModel, place: Path, repo: Path) -> None:
    """C2, P4: The same client runs an agent behind Bough that it could have run itself; what it denies is not done, and
    a turn later it is allowed."""
    env = {"BOUGH_DEFAULT_AGENT": agent}
    async with (
        behind_server(agent, home, model, place, repo, env=env) as real,
        driving(real.server, real.client, place, repo) as acpx,
    ):
        session = (await acpx.tell("sessions", "new"))["acpxSessionId"]
        assert (await real.client.get(f"/api/sessions/{session}"))["agent"] == agent
        await acpx.run("set-mode", "default")
        wire = await acpx.run("--deny-all", real.actions.write("never.txt"), code=DENIED)
        assert len(asked(wire)) == 1
        assert not (repo / "never.txt").exists()
        wire = await acpx.run("--approve-all", f"{real.actions.write('new.txt')} {real.actions.say('written')}")
        assert (stop(wire), len(asked(wire))) == ("end_turn", 1)
        assert "written" in said(wire)
        assert (repo / "new.txt").read_text() == "alpha\nbeta\n"
        assert (await acpx.tell("sessions", "close"))["action"] == "session_closed"
