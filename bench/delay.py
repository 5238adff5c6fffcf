"""Measures what Bough adds to a short turn: from the REST call of a prompt to the first text at a WebSocket client,
minus the time of the same agent on its own pipes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect

from bench.clients.http import Http
from bench.support import measure
from bench.support.report import Result, Row, duration
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

WARM_UP = 5
TURNS = 40
MOST_ADDED = 0.015
ENDED = ("completed", "failed", "cancelled")


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repo = make_repo(folder / "work" / "repo")
        server = ServerProcess(folder / "data", folder / "work")
        async with server:
            with bare(repo, folder / "demo") as direct:
                async with _session(server, repo) as session:
                    await measure.alternate(WARM_UP, direct.turn, session.turn)
                    floor, ours = await measure.alternate(TURNS, direct.turn, session.turn)
    added = ours.median - floor.median
    row = Row(
        name="prompt to first chunk, warm",
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"+{added * 1e3:.1f} ms",
        target=f"≤ +{MOST_ADDED * 1e3:.0f} ms",
        number=added,
        ok=added <= MOST_ADDED,
    )
    return Result(title="delay", about=_ABOUT, rows=[row])


_ABOUT = f"""\
- **Setup:** a trivial turn of the demo agent, {TURNS} times.
- **Floor:** from the prompt's line on the agent's stdin to the line of the first chunk on its stdout.
- **Ours:** from sending `POST …/prompt` to the first words at a WebSocket client. The prompt, the state of the
  working copy and the turn are stored on the way."""


class Bare:
    """An agent on its own pipes. `meta` is sent with the new session."""

    def __init__(self, process: subprocess.Popen[bytes], cwd: Path, meta: dict[str, Any] | None = None) -> None:
        self._process = process
        self._count = 0
        self._ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self._read_answer()
        self._ask("session/new", {"cwd": str(cwd), "mcpServers": [], "_meta": meta or {}})
        self._session_id: str = self._read_answer()["sessionId"]

    async def turn(self) -> float:
        """Returns the seconds to the first chunk."""
        prompt = [{"type": "text", "text": "Hello."}]
        start = time.perf_counter()
        self._ask("session/prompt", {"sessionId": self._session_id, "prompt": prompt})
        while b'"agent_message_chunk"' not in self._line():
            pass
        seconds = time.perf_counter() - start
        self._read_answer()
        return seconds

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self._process.stdin.write(msgspec.json.encode(message) + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the agent ended")
        return line

    def _read_answer(self) -> dict[str, Any]:
        while True:
            message: dict[str, Any] = msgspec.json.decode(self._line())
            if message.get("id") == self._count and "method" not in message:
                return message["result"]


@contextlib.contextmanager
def bare(cwd: Path, home: Path) -> Generator[Bare]:
    """Runs the demo agent directly."""
    command = [sys.executable, "-m", "bough.agents.demo"]
    env = os.environ | {"BOUGH_DEMO_HOME": str(home)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env=env) as process:
        yield Bare(process, cwd)
        assert process.stdin is not None
        process.stdin.close()


class _Session:
    """The same agent behind Bough."""

    def __init__(self, http: Http, socket: ClientConnection, session_id: str) -> None:
        self._http = http
        self._socket = socket
        self._path = f"/api/sessions/{session_id}/prompt"

    async def turn(self) -> float:
        """Returns the seconds from the call to the first text."""
        start = time.perf_counter()
        self._http.send("POST", self._path, {"text": "Hello."})
        while not _is_speech(await self._event()):
            pass
        seconds = time.perf_counter() - start
        if self._http.receive().status != 202:
            raise RuntimeError("the prompt was refused")
        while not _is_end(await self._event()):
            pass
        return seconds

    async def _event(self) -> dict[str, Any]:
        async with asyncio.timeout(30):
            return msgspec.json.decode(await self._socket.recv())


@contextlib.asynccontextmanager
async def _session(server: ServerProcess, repo: Path) -> AsyncGenerator[_Session]:
    with Http(server.url, server.token) as http:
        repo_id = http.post("/api/repos", {"path": str(repo)}).json()["id"]
        session_id = http.post("/api/sessions", {"repoId": repo_id, "agent": "demo"}).json()["id"]
        address = f"{server.url.replace('http', 'ws', 1)}/api/events?sessionId={session_id}"
        async with connect(address, additional_headers={"Authorization": f"Bearer {server.token}"}) as socket:
            await socket.recv()
            yield _Session(http, socket, session_id)


def _is_speech(event: dict[str, Any]) -> bool:
    return event["type"] == "message.created" and event["data"]["role"] == "agent"


def _is_end(event: dict[str, Any]) -> bool:
    return event["type"] == "task.patched" and event["data"]["status"] in ENDED
