"""What the tests of the running core share: agents of one's own in the catalog, sessions in one line, a look at who is
left. What a test is about it says itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import psutil

from bough.agents.keeper.keeper_launcher import KeeperLauncher
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import Running, ServerProcess

MARK = "HERON"
"""A variable in a session's environment by which the processes of its agent are known."""


def add_agent(folder: Path, name: str, command: list[str], **fields: Any) -> None:
    """Puts an agent into the catalog of a server that is yet to start below `folder`."""
    agents = folder / "data" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    lines = [f'title = "{name}"', f"command = {json.dumps(command)}"]
    lines += [f"{key.replace('_', '-')} = {json.dumps(value)}" for key, value in fields.items()]
    (agents / f"{name}.toml").write_text("\n".join(lines) + "\n", "utf-8")


def misbehaving(folder: Path, name: str) -> None:
    """Puts one of the misbehaving agents into the catalog."""
    add_agent(folder, name, ["{python}", "-m", f"tests.support.misbehaving_agents.{name}"])


async def open_session(server: Running, **fields: Any) -> str:
    """A session in a repository of its own."""
    client: Client = server.client
    number = len(list(server.root.iterdir()))
    repo = await client.repo(server.repo(f"repo{number}"))
    return (await client.session(repo["id"], **fields))["id"]


async def open_in(server: ServerProcess, client: Client, **fields: Any) -> str:
    """A session of a server in a process of its own."""
    repo = await client.repo(make_repo(server.root / "repo"))
    return (await client.session(repo["id"], **fields))["id"]


def agents_with(mark: Path) -> list[int]:
    """The agents of sessions with this mark, and what they started."""
    return [one.pid for one in psutil.process_iter() if _environment(one).get(MARK) == str(mark)]


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        return process.environ()
    except psutil.Error:
        return {}


async def nobody_left(data: Path, mark: Path) -> None:
    """Waits until no keeper of a data folder and no agent with this mark is left."""
    keepers = KeeperLauncher(data / "keepers")
    await eventually(lambda: not keepers.names() and not agents_with(mark), "no keeper and no agent is left")


@contextlib.asynccontextmanager
async def none_left_behind(data: Path) -> AsyncGenerator[None]:
    """Ends the keepers of a data folder after a test, however that went."""
    try:
        yield
    finally:
        keepers = KeeperLauncher(data / "keepers")
        await asyncio.gather(*(keepers.drop(name) for name in keepers.names()))


async def messages(client: Client, session_id: str, kind: str) -> list[dict[str, Any]]:
    """The contents of one type in a transcript."""
    found = await client.get(f"/api/sessions/{session_id}/messages")
    return [one["content"] for one in found if one["content"]["type"] == kind]
