"""Tests servers that die between the record of a call, its act, its outcome and its answer (5c, 5d, Q4): the call runs
once, and a repeated call joins it. `test_joining` tests connections that break while the server runs."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sqlite3
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from bough.core.state.calls.tool_call import ENDED
from tests.support.client import Client, Json
from tests.support.eventually import eventually
from tests.support.mcp.tool_caller import Agent, replace_token
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

SPAWN = "agor_sessions_spawn"
QUIET = {"prompt": "hello", "title": "kid", "enableCallback": False}


@dataclass
class Stage:
    """A server as a process, and the agent of a session in a turn that outlives it."""

    server: ServerProcess
    session: str
    token: str
    client: Client
    agent: Agent
    stack: contextlib.AsyncExitStack

    async def restart(self, number: signal.Signals | None, crash: str = "") -> None:
        """Ends the server if it is still alive, and starts another one, which may be set to crash."""
        assert self.server.process is not None
        if number is not None:
            self.server.process.send_signal(number)
        async with asyncio.timeout(30):
            await self.server.process.wait()
        await self.stack.aclose()
        self.server.module = "tests.support.faults.crashing_server" if crash else "bough"
        self.server.env = {"CRASH": crash}
        await self.server.start()
        await self.connect()

    async def connect(self) -> None:
        self.client = await self.stack.enter_async_context(self.server.client())
        http = await self.stack.enter_async_context(httpx.AsyncClient(base_url=self.server.url, timeout=60))
        self.agent = Agent(http, self.session, self.token)

    async def children(self) -> list[str]:
        page = await self.client.get(f"/api/sessions?parentId={self.session}")
        return [session["id"] for session in page["sessions"]]

    async def cut_off(self, tool: str, **arguments: Any) -> None:
        """Makes a call during which the server dies."""
        with pytest.raises(httpx.HTTPError):
            await self.agent.call(tool, **arguments)

    async def outcomes(self) -> list[Json]:
        messages = await self.client.get(f"/api/sessions/{self.session}/messages")
        return [item for item in messages if item["content"]["type"] == "outcome"]


@contextlib.asynccontextmanager
async def stage(folder: Path, mode: str) -> AsyncGenerator[Stage]:
    async with ServerProcess(folder / "data", folder / "work") as server, contextlib.AsyncExitStack() as stack:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"], permissionMode=mode, title="caller"))["id"]
            await client.wait_task(await client.prompt(session, "[[hang]]"), "running")
            token = replace_token(server.data, session)
            set_stage = Stage(server, session, token, client, Agent(client.http, session, token), stack)
            await set_stage.connect()
        yield set_stage


@pytest.mark.parametrize(
    "crash",
    [
        pytest.param("after:alike", id="between record and act"),
        pytest.param("inside:add_private", id="in the middle of the act"),
        pytest.param("after:add_private", id="between act and outcome"),
        pytest.param("after:end", id="between outcome and answer"),
    ],
)
async def test_killed_during_a_call(tmp_path: Path, crash: str) -> None:
    """5c: Wherever the server dies, one child is created, and the repeated call gets its outcome."""
    async with stage(tmp_path, "bypassPermissions") as here:
        await here.restart(signal.SIGKILL, crash)
        await here.cut_off(SPAWN, **QUIET)
        await here.restart(None)
        answer = await here.agent.does(SPAWN, **QUIET)
        assert await here.children() == [answer["sessionId"]]
        # The answer arrived this time, so the next one is another call.
        assert (await here.agent.does(SPAWN, **QUIET))["sessionId"] != answer["sessionId"]
        assert len(await here.children()) == 2


@pytest.mark.parametrize("tool", [SPAWN, "agor_sessions_prompt", "agor_sessions_create", "create_session"])
async def test_killed_before_its_preset_was_removed(tmp_path: Path, tool: str) -> None:
    """5c, N3: A call that has created a session has its outcome, although the preset was removed before the next server
    carries the call out again."""
    async with stage(tmp_path, "bypassPermissions") as here:
        await here.client.post("/api/presets", {"name": "kids", "agent": "demo"})
        repo = here.server.root / "repo"
        arguments: Json = {
            SPAWN: QUIET,
            "agor_sessions_prompt": {"sessionId": here.session, "mode": "fork", "prompt": "hello"},
            "agor_sessions_create": {"worktreeId": (await here.client.get("/api/repos"))["repos"][0]["id"]},
            "create_session": {"name": "kid", "workingDir": str(repo)},
        }[tool] | {"preset": "kids"}
        await here.restart(signal.SIGKILL, "after:add_private")
        await here.cut_off(tool, **arguments)
        assert here.server.process is not None
        await here.server.process.wait()
        with contextlib.closing(sqlite3.connect(here.server.data / "bough.db")) as database, database:
            database.execute("DELETE FROM presets")
        await here.restart(None)

        async def ended() -> Json | None:
            (call,) = (await here.client.get(f"/api/sessions/{here.session}/calls"))["calls"]
            return call if call["state"] in ENDED else None

        call = await eventually(ended)
        rows = (await here.client.get("/api/sessions"))["sessions"]
        (created,) = (row["id"] for row in rows if row["id"] != here.session)
        assert call["state"] == "done" and created in str(call["outcome"])


async def test_killed_while_a_worktree_is_created(tmp_path: Path) -> None:
    """5c: What is created outside the database is also created once."""
    async with stage(tmp_path, "bypassPermissions") as here:
        await here.restart(signal.SIGKILL, "after:alike")
        arguments = {"name": "x", "workingDir": str(here.server.root / "repo"), "worktree": {"branch": "apart"}}
        await here.cut_off("create_session", **arguments)
        await here.restart(None)
        answer = await here.agent.does("create_session", **arguments)
        assert (
            answer["workingDir"].endswith("/.worktrees/apart") and (here.server.root / "repo/.worktrees/apart").is_dir()
        )
        assert (await here.client.get("/api/worktrees"))["total"] == 1
        assert (await here.client.get("/api/sessions"))["total"] == 2


async def test_killed_before_the_decision(tmp_path: Path) -> None:
    """5d: The question survives the server; an allowed call runs once, and its outcome is queued."""
    async with stage(tmp_path, "default") as here:
        call = asyncio.create_task(here.cut_off(SPAWN, **QUIET))
        approval = await here.client.approval(here.session)
        await here.restart(signal.SIGKILL)
        await call

        async def goes_on() -> bool:
            return (await here.client.get(f"/api/sessions/{here.session}"))["activity"] == "running"

        await here.client.eventually(goes_on)
        await here.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        [shown] = await here.client.eventually(here.outcomes)
        [child] = await here.children()
        assert child in shown["content"]["text"]
        await here.restart(signal.SIGKILL)
        assert len(await here.children()) == 1 and len(await here.outcomes()) == 1


async def test_killed_between_decision_and_act(tmp_path: Path) -> None:
    """5d: The next server runs the allowed call, and the repeated call gets the outcome."""
    async with stage(tmp_path, "default") as here:
        await here.restart(signal.SIGKILL, "after:of_approval")
        call = asyncio.create_task(here.cut_off(SPAWN, **QUIET))
        approval = await here.client.approval(here.session)
        with pytest.raises(httpx.HTTPError):
            await here.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        await call
        await here.restart(None)
        await here.client.eventually(here.children)
        [shown] = await here.client.eventually(here.outcomes)
        assert (await here.children())[0] in shown["content"]["text"]
        assert len(await here.children()) == 1


async def test_an_orderly_shutdown_does_not_wait_for_people(tmp_path: Path) -> None:
    """L1: A call that waits for a person gets a handle."""
    async with stage(tmp_path, "default") as here:
        call = asyncio.create_task(here.agent.does(SPAWN, **QUIET))
        approval = await here.client.approval(here.session)
        assert here.server.process is not None
        here.server.process.send_signal(signal.SIGTERM)
        answer = await call
        assert (answer["status"], answer["approvalId"]) == ("pending", approval["id"])
        await here.restart(None)
        await here.client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        await here.client.eventually(here.outcomes)
        assert len(await here.children()) == 1
