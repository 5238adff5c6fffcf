"""A long turn through the whole of Bough: agent, pipe, rows in SQLite, WebSocket, and a subscriber that must end with
the same text byte for byte. The floor reads the same pipe of the same program and decodes each line, no more."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import msgspec

from bench import measure, recording
from bench.http import Http
from bench.listener import Heard
from bench.recording import Recording
from bench.report import Result, Row, noise
from bough.testing.repos import make_repo
from bough.testing.server import ServerProcess

ROUNDS = 9
FEWEST = 0.25
# Turns leave a few pages behind in caches and arenas; growth with each turn would be more.
MOST_GROWTH = 1.10
READ_SIZE = 1 << 18
PROMPT = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}\n'


class _Envelope(msgspec.Struct):
    id: msgspec.Raw = msgspec.Raw()
    method: str | None = None
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()


async def run() -> Result:
    spoken = recording.make()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "bough.testing.agents.replay", str(spoken.save(folder / "turn.jsonl"))]
        with _bare(command, spoken) as bare:
            async with _server(folder, command) as server, _subscribed(server, folder, spoken) as turn:
                return await _compare(server, bare, turn, spoken)


async def _compare(server: ServerProcess, bare: _Bare, turn: _Turn, spoken: Recording) -> Result:
    assert server.process is not None
    before = measure.resident(server.process.pid)
    first = await turn.take()
    after_one = measure.resident(server.process.pid)
    await bare.take()
    floor, ours = await measure.alternate(ROUNDS, bare.take, turn.take)
    after_all = measure.resident(server.process.pid)
    turn.check_stored()
    ratio = floor.median / ours.median
    rows = [
        Row(
            name=f"{spoken.updates:,} updates, updates/s",
            floor=f"{spoken.updates / floor.median:,.0f}{noise(floor)}",
            ours=f"{spoken.updates / ours.median:,.0f}{noise(ours)}",
            ratio=f"{ratio:.2f}",
            target=f"≥ {FEWEST}",
            ok=ratio >= FEWEST,
        ),
        Row(name="… the whole turn", floor=f"{floor.median * 1e3:.0f} ms", ours=f"{ours.median * 1e3:.0f} ms"),
        Row(name="… the first one, agent started", ours=f"{first * 1e3:.0f} ms"),
        Row(name="… frames sent to the subscriber", ours=f"{turn.frames}"),
        Row(
            name=f"resident after 1 and {1 + ROUNDS} turns (before: {before:.0f} MB)",
            floor=f"{after_one:.0f} MB",
            ours=f"{after_all:.0f} MB",
            ratio=f"{after_all / after_one:.2f}",
            target=f"≤ {MOST_GROWTH}",
            ok=after_all / after_one <= MOST_GROWTH,
        ),
    ]
    return Result(title="stream", about=_ABOUT, rows=rows)


_ABOUT = """\
A recorded turn of 20,000 updates (96 % message chunks of 5 to 60 characters, thoughts, tool calls; made from a fixed
seed) is played by a small program as fast as it can. Floor: that program's stdout read and each line decoded by
msgspec, envelope with raw parameters. Ours: from the accepted prompt until a WebSocket client in a process of its own
has the whole text, checked byte for byte there and afterwards in the database."""


class _Bare:
    """The program and a loop that decodes what it says."""

    def __init__(self, process: subprocess.Popen[bytes], updates: int) -> None:
        self._process = process
        self._updates = updates

    async def take(self) -> float:
        """Seconds for one turn."""
        assert self._process.stdin is not None and self._process.stdout is not None
        decode = msgspec.json.Decoder(_Envelope).decode
        source = self._process.stdout.fileno()
        start = time.monotonic()
        self._process.stdin.write(PROMPT)
        self._process.stdin.flush()
        count, rest, answered = 0, b"", False
        while not answered:
            lines = (rest + os.read(source, READ_SIZE)).split(b"\n")
            rest = lines.pop()
            for line in lines:
                if decode(line).method is None:
                    answered = True
                else:
                    count += 1
        taken = time.monotonic() - start
        if count != self._updates:
            raise RuntimeError(f"the floor saw {count} updates of {self._updates}")
        return taken


@contextlib.contextmanager
def _bare(command: list[str], spoken: Recording) -> Generator[_Bare]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield _Bare(process, spoken.updates)
        assert process.stdin is not None
        process.stdin.close()


class _Turn:
    """A session of Bough with that program as its agent, and its subscriber."""

    def __init__(self, http: Http, session_id: str, listener: asyncio.subprocess.Process, spoken: Recording) -> None:
        self._http = http
        self._session_id = session_id
        self._listener = listener
        self._spoken = spoken
        self.frames = 0

    async def take(self) -> float:
        """Seconds from the accepted prompt to the whole text at the subscriber."""
        answer = self._http.post(f"/api/sessions/{self._session_id}/prompt", {"text": "Go on."})
        start = time.monotonic()
        if answer.status != 202:
            raise RuntimeError(answer.body.decode())
        heard = msgspec.json.decode(await measure.first_line(self._listener), type=Heard)
        if heard.status != "completed" or heard.digest != self._spoken.digest:
            raise RuntimeError(f"the subscriber ended with another text (task {heard.status})")
        self.frames = heard.frames
        return heard.whole_at - start

    def check_stored(self) -> None:
        """The last turn in the database, read back."""
        found = self._http.get(f"/api/sessions/{self._session_id}/messages?limit={2 * len(self._spoken.texts)}").json()
        contents = [one["content"] for one in found if one["role"] == "agent"]
        texts = [one["text"] for one in contents if one["type"] in ("text", "thought")]
        if recording.digest(texts[-len(self._spoken.texts) :]) != self._spoken.digest:
            raise RuntimeError("the database holds another text")


@contextlib.asynccontextmanager
async def _server(folder: Path, command: list[str]) -> AsyncGenerator[ServerProcess]:
    data = folder / "data"
    (data / "agents").mkdir(parents=True)
    entry = f'title = "Replay"\ncommand = {json.dumps(command)}\n'
    (data / "agents" / "replay.toml").write_text(entry, "utf-8")
    server = ServerProcess(data, folder / "work")
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@contextlib.asynccontextmanager
async def _subscribed(server: ServerProcess, folder: Path, spoken: Recording) -> AsyncGenerator[_Turn]:
    with Http(server.url, server.token) as http:
        repo = http.post("/api/repos", {"path": str(make_repo(folder / "work" / "repo"))}).json()
        session = http.post("/api/sessions", {"repoId": repo["id"], "agent": "replay"}).json()
        listener = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.listener", server.url, server.token, session["id"]),
            str(spoken.characters),
            cwd=measure.ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            await measure.first_line(listener)
            yield _Turn(http, session["id"], listener, spoken)
        finally:
            listener.terminate()
            await listener.wait()
