"""Tests a server that may open few files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import sys
from pathlib import Path

import pytest

from bough import open_file_limit
from tests.api.server_processes import started
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.processes import communicated
from tests.support.repos import make_repo
from tests.support.server import ServerProcess


async def test_too_low_a_limit_is_reported_at_start(tmp_path: Path) -> None:
    """O5: With `ulimit -n 64` the server does not start, and says how many descriptors it needs and what to do."""
    command = 'ulimit -n 64; exec "$@"'
    server = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", command, "sh", sys.executable, "-m", "bough", "serve", "--port", "0"),
        *("--data", str(tmp_path / "data")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await communicated(server)
    assert (server.returncode, out) == (1, b"")
    assert b"Bough needs 152 file descriptors for 8 agents, but may open only 64. Raise the limit" in err


def test_a_low_soft_limit_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """O5: Only the hard limit counts, because a process can raise its own soft limit."""
    limits: list[tuple[int, int]] = [(64, 4096)]

    def get(_kind: int) -> tuple[int, int]:
        return limits[-1]

    def set_to(_kind: int, new: tuple[int, int]) -> None:
        limits.append(new)

    monkeypatch.setattr(resource, "getrlimit", get)
    monkeypatch.setattr(resource, "setrlimit", set_to)
    open_file_limit.ensure_enough(8)
    open_file_limit.ensure_enough(8)
    assert limits == [(64, 4096), (152, 4096)]


async def test_connections_beyond_the_limit(tmp_path: Path) -> None:
    """Q4, A4: Connections that would take the last descriptors get the usual error; a prompt on an open connection
    still runs, and new connections work again once the others are closed."""
    async with started(ServerProcess(tmp_path / "data", tmp_path / "work")) as server, server.client() as client:
        assert server.process is not None
        pid = server.process.pid
        repo = await client.repo(make_repo(tmp_path / "work" / "repo"))
        session = await client.session(repo["id"])
        highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
        limit = highest + open_file_limit.RESERVED + 10
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))
        host, port = server.url.removeprefix("http://").split(":")
        connections = [await asyncio.open_connection(host, int(port)) for _ in range(60)]
        answers = list[bytes]()
        for reader, writer in connections:
            writer.write(f"GET /api/health HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                answers.append(await reader.readuntil(b"}"))
        refused = [answer for answer in answers if b" 503 " in answer]
        assert 0 < len(refused) < len(answers)
        error = json.loads(refused[-1].partition(b"\r\n\r\n")[2] + b"}")["error"]
        assert error["code"] == "too_many_connections" and error["id"] and error["message"]
        task = await client.prompt(session["id"], "still here")
        await _completed(client, task)
        for _, writer in connections:
            writer.close()

        async def works_again() -> bool:
            async with server.client() as another:
                return (await another.http.get("/api/health")).status_code == 200

        await eventually(works_again, "new connections are accepted again")


async def _completed(client: Client, task_id: str) -> None:
    """Waits for the end of a task without opening another connection, which an event stream would need."""

    async def look() -> bool:
        return (await client.get(f"/api/tasks/{task_id}"))["status"] == "completed"

    await eventually(look, "the task is completed")


async def test_turns_wait_for_descriptors(tmp_path: Path) -> None:
    """Q4: A prompt sent while no descriptors are left stays queued, and runs when some are free."""
    async with started(ServerProcess(tmp_path / "data", tmp_path / "work")) as server, server.client() as client:
        assert server.process is not None
        pid = server.process.pid
        repo = await client.repo(make_repo(tmp_path / "work" / "repo"))
        session = await client.session(repo["id"])
        usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
        # Enough to take a prompt, too few for a turn.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest + 12, usual[1]))
        task = await client.prompt(session["id"], "patience")
        await eventually(lambda: "too_few_descriptors" in (server.data / "server.log").read_text())
        assert (await client.get(f"/api/tasks/{task}"))["status"] == "queued"
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
        await _completed(client, task)
