"""A server that was killed, and what the next one makes of what it left."""

from __future__ import annotations

import signal
from pathlib import Path

from bough.testing.repos import make_repo
from bough.testing.server import ServerProcess


async def test_queues_drain_after_a_kill(tmp_path: Path) -> None:
    """Q4: prompts that were acknowledged before a kill -9 are answered after it, in order and once each."""
    server = ServerProcess(tmp_path / "data", tmp_path / "work")
    await server.start()
    try:
        async with server.client() as client:
            repo = await client.repo(make_repo(server.root / "repo"))
            session = (await client.session(repo["id"]))["id"]
            first = await client.prompt(session, "[[slow 50 20]]")
            rest = [await client.prompt(session, f"[[say answer {number}]]") for number in range(3)]
            await client.wait_task(first, "running")
        await server.stop(signal.SIGKILL)
        await server.start()
        async with server.client() as client:
            for task in rest:
                assert (await client.wait_task(task))["status"] == "completed"
            assert (await client.texts(session))[-3:] == ["answer 0", "answer 1", "answer 2"]
            task = await client.get(f"/api/tasks/{first}")
            assert task["status"] == "completed"
        assert await server.stop() == 0
    finally:
        await server.stop(signal.SIGKILL)
