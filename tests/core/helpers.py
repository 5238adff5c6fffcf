"""Helpers for the tests of the running core: extra agents in the catalog, sessions in one line, and a look at which
processes are left."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import psutil

from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from tests.support import misbehaving_agents
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import Running, ServerProcess

MARK = "HERON"
"""A variable in a session's environment by which the processes of its agent are known."""


def add_agent(folder: Path, name: str, command: list[str], **fields: Any) -> None:
    """Adds an agent to the catalog of a server that has not started yet, below `folder`."""
    agents = folder / "data" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    lines = [f'title = "{name}"', f"command = {json.dumps(command)}"]
    lines += [f"{key.replace('_', '-')} = {json.dumps(value)}" for key, value in fields.items()]
    (agents / f"{name}.toml").write_text("\n".join(lines) + "\n", "utf-8")


def misbehaving(folder: Path, name: str) -> None:
    """Adds one of the misbehaving agents to the catalog."""
    add_agent(folder, name, ["{python}", "-m", misbehaving_agents.module(name)])


async def open_session(server: Running, **fields: Any) -> str:
    """Creates a session in a repository of its own and returns its id."""
    client: Client = server.client
    number = len(list(server.root.iterdir()))
    repo = await client.repo(server.repo(f"repo{number}"))
    return (await client.session(repo["id"], **fields))["id"]


async def open_in(server: ServerProcess, client: Client, **fields: Any) -> str:
    """Creates a session on a server that runs in its own process and returns its id."""
    repo = await client.repo(make_repo(server.root / "repo"))
    return (await client.session(repo["id"], **fields))["id"]


def agents_with(mark: Path) -> list[int]:
    """Returns the pids of agents whose environment has this mark, and of their children, without their sandbox."""
    marked = [process for process in psutil.process_iter() if _environment(process).get(MARK) == str(mark)]
    return [process.pid for process in marked if _name(process) != "bwrap"]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return ""


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


async def wait_until_gone(data: Path, mark: Path) -> None:
    """Waits until no keeper of a data folder and no agent with this mark is left."""
    keepers = KeeperLauncher(data / "keepers")
    await eventually(lambda: not keepers.names() and not agents_with(mark), "no keeper and no agent is left")


@contextlib.asynccontextmanager
async def ending_keepers(data: Path) -> AsyncGenerator[None]:
    """Ends the keepers of a data folder after a test, whether it passed or not."""
    try:
        yield
    finally:
        keepers = KeeperLauncher(data / "keepers")
        await asyncio.gather(*(keepers.drop(name) for name in keepers.names()))


async def messages(client: Client, session_id: str, kind: str) -> list[dict[str, Any]]:
    """Returns the contents of one type in a transcript."""
    transcript = await client.get(f"/api/sessions/{session_id}/messages")
    return [message["content"] for message in transcript if message["content"]["type"] == kind]
