"""Floods: an agent that writes as fast as it can takes neither the server's memory nor its time from others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest

from tests.core.helpers import add_agent, open_in
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

MIB = 1 << 20
MOST_MEMORY = 500 * MIB
"""Bytes that a server may grow by: a long line is in memory more than once, and nothing else may add up."""
PATIENCE = 300.0
MANY, SOME, FEW, LONG = 100_000, 10_000, 1_000, 12
FLOODS: dict[str, int] = {
    "chunks": MANY,
    "messages": FEW,
    "updates of one call": SOME,
    "calls": FEW,
    "plans": SOME,
    "updates for others": SOME,
    "commands": SOME,
    "answers": SOME,
    "unknown notifications": SOME,
    "permissions": FEW,
    "long lines": LONG,
    "long calls": LONG,
}


@contextlib.asynccontextmanager
async def peak(pid: int) -> AsyncGenerator[list[int]]:
    """Yields a list of one number: how much more memory a process has used at most than at the beginning."""
    process = psutil.Process(pid)
    before, most = process.memory_info().rss, [0]

    async def sample() -> None:
        while True:
            most[0] = max(most[0], process.memory_info().rss - before)
            # Memory is sampled: nothing reports its peak since a moment.
            await asyncio.sleep(0.02)

    sampling = asyncio.create_task(sample())
    try:
        yield most
    finally:
        sampling.cancel()
        await asyncio.wait((sampling,))


async def _over(client: Client, task: str) -> str:
    """Waits patiently for the end of a turn and returns its status."""

    async def ended() -> str | None:
        row = await client.get(f"/api/tasks/{task}")
        return row["status"] if row["endedAt"] else None

    return await eventually(ended, "the turn is over", within=PATIENCE)


@pytest.mark.timeout(900)
async def test_floods(tmp_path: Path) -> None:
    """C1, R4, P4: Whatever an agent floods its server with, the server's memory stays bounded, the turns of others go
    on, and the flood's own turn can be stopped."""
    add_agent(tmp_path, "floods", ["{python}", "-m", "tests.attacks.agents.floods"])
    async with ServerProcess(tmp_path / "data", tmp_path / "work") as server, server.client() as client:
        other = await open_in(server, client, agent="demo")
        await client.ask(other, "[[say begin]]")
        repo = await client.repo(make_repo(server.root / "flooded"))
        assert server.process is not None
        for kind, count in FLOODS.items():
            session = (await client.session(repo["id"], agent="floods"))["id"]
            async with peak(server.process.pid) as grown:
                task = await client.prompt(session, f"{kind} {count}")
                await client.wait_task(task, "running", "waiting_permission", "completed", "failed")
                answered = await client.prompt(other, f"[[say {kind}]]")
                assert await _over(client, answered) == "completed", kind
                if kind == "permissions":
                    await client.post(f"/api/sessions/{session}/stop")
                status = await _over(client, task)
            assert status in ("completed", "cancelled"), (kind, status)
            assert grown[0] < MOST_MEMORY, (kind, grown[0] // MIB)
            await client.call("DELETE", f"/api/sessions/{session}?force=true")
