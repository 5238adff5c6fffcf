"""Measures editors on Bough: how fast a long session loads, how much later the first text comes than from the agent
itself, and the cost of fifty editors on one session."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from bench import delay
from bench.clients.acp_client import Chunk, Editor, chunk
from bench.clients.http import Http
from bench.support import database, measure, recording, turns
from bench.support.database import Size
from bench.support.measure import Sample
from bench.support.recording import Recording
from bench.support.report import Result, Row, duration, noise, slower
from bough.storage.sqlite_tx import connect
from tests.support.server import ServerProcess

SIZE = Size(1, 1, 10_000)
LOADS = 7
LEAST = 0.1
WARM_UP = 5
TURNS = 40
MOST_ADDED = 0.020
MOST_PIPED = 0.025
UPDATES = 5_000
CROWD = 50
STREAMS = 7
MOST_FOR_CROWD = 10.0
ROWS = "SELECT id, role, content FROM messages WHERE session_id = ? ORDER BY position"


async def run() -> Result:
    spoken = recording.make(UPDATES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await database.copied(SIZE, folder / "data")
        command = turns.replaying(spoken.save(folder / "turn.jsonl"))
        async with turns.server(folder, command) as server:
            with Http(server.url, server.token) as http:
                streaming = turns.open_session(http, folder, 2)
            repo = folder / "work" / "repo"
            rows = [
                await _loads(server, folder),
                *await _hops(server, folder, repo),
                *await _streams(server, repo, streaming, spoken),
            ]
    return Result(title="editors", about=_ABOUT, rows=rows)


_ABOUT = f"""\
Clients of the Agent Client Protocol at `/acp`. All editors are threads of one process.

- **Load:** `session/load` of a session of {SIZE.messages:,} messages, from the request to its answer, with every
  message compared. Floor: one statement on a bare sqlite3 connection reads the same rows, and one loop encodes them
  as the same updates, sent to nobody.
- **Delay:** a trivial turn of the demo agent, {TURNS} times, from the prompt to the first chunk. Floor: the same on
  that agent's stdin and stdout.
- **Crowd:** a turn of {UPDATES:,} updates, played as fast as possible, from the prompt until the last of {CROWD}
  editors that watch the session has the whole text, byte for byte. Floor: the same with one editor."""


# Load


async def _loads(server: ServerProcess, folder: Path) -> Row:
    bare = connect(folder / "data" / "bough.db", read_only=True)
    try:
        session_id: str = bare.execute("SELECT session_id FROM tasks WHERE prompt <> ''").fetchone()[0]
        with Editor(server, Path(database.CWD)) as editor:
            expected: list[Chunk | None] = []

            async def floor() -> float:
                start = time.perf_counter()
                frames = _encoded(bare.execute(ROWS, (session_id,)).fetchall(), session_id)
                seconds = time.perf_counter() - start
                expected[:] = [chunk(frame) for frame in frames]
                return seconds

            async def ours() -> float:
                start = time.perf_counter()
                frames = editor.load(session_id)
                seconds = time.perf_counter() - start
                # Title and commands come after the messages.
                if [chunk(frame) for frame in frames[: SIZE.messages]] != expected:
                    raise RuntimeError("another session was told than the one that is stored")
                return seconds

            await measure.alternate(1, floor, ours)
            samples = await measure.alternate(LOADS, floor, ours)
    finally:
        bare.close()
    return _load_row(*samples)


def _load_row(floor: Sample, ours: Sample) -> Row:
    ratio = floor.median / ours.median
    return Row(
        name=f"session/load of {SIZE.messages:,} messages, messages/s",
        floor=f"{SIZE.messages / floor.median:,.0f}{noise(floor)}",
        ours=f"{SIZE.messages / ours.median:,.0f}{noise(ours)}",
        ratio=f"{ratio:.2f}",
        target=f"≥ {LEAST}",
        number=ratio,
        ok=ratio >= LEAST,
    )


class _Text(msgspec.Struct):
    text: str


def _encoded(rows: list[tuple[str, str, str]], session_id: str) -> list[bytes]:
    decode, encode = msgspec.json.Decoder(_Text).decode, msgspec.json.Encoder().encode
    frames: list[bytes] = []
    for id, role, content in rows:
        update = {
            "sessionUpdate": "user_message_chunk" if role == "user" else "agent_message_chunk",
            "content": {"type": "text", "text": decode(content).text},
            "messageId": id,
        }
        params = {"sessionId": session_id, "update": update}
        frames.append(encode({"jsonrpc": "2.0", "method": "session/update", "params": params}))
    return frames


# Delay


async def _hops(server: ServerProcess, folder: Path, repo: Path) -> list[Row]:
    with (
        delay.bare(repo, folder / "demo") as bare,
        Editor(server, repo) as editor,
        _piped(server, repo) as piped,
    ):
        session_id = editor.new("demo")

        async def socket() -> float:
            start = time.perf_counter()
            editor.prompt(session_id, "Hello.")
            editor.first_words()
            seconds = time.perf_counter() - start
            editor.answer()
            return seconds

        measures = (bare.turn, socket, piped.turn)
        await measure.alternate(WARM_UP, *measures)
        floor, direct, pipe = await measure.alternate(TURNS, *measures)
    return [
        _hop_row("prompt to first chunk at /acp, warm", floor, direct, MOST_ADDED),
        _hop_row("… through `bough acp` on stdio", floor, pipe, MOST_PIPED),
    ]


@contextlib.contextmanager
def _piped(server: ServerProcess, repo: Path) -> Generator[delay.Bare]:
    """Runs the demo agent behind `bough acp`, as editors start it."""
    command = [sys.executable, "-m", "bough", "acp", "--data", str(server.data)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=repo) as process:
        yield delay.Bare(process, repo, {"bough": {"agent": "demo"}})
        assert process.stdin is not None
        process.stdin.close()


def _hop_row(name: str, floor: Sample, ours: Sample, most: float) -> Row:
    added = ours.median - floor.median
    return Row(
        name=name,
        floor=duration(floor),
        ours=duration(ours),
        ratio=f"+{added * 1e3:.1f} ms",
        target=f"≤ +{most * 1e3:.0f} ms",
        number=added,
        ok=added <= most,
    )


# Crowd


async def _streams(server: ServerProcess, repo: Path, session_ids: list[str], spoken: Recording) -> list[Row]:
    with (
        ThreadPoolExecutor(CROWD) as threads,
        _Watched(server, repo, session_ids[0], 1, threads, spoken) as single,
        _Watched(server, repo, session_ids[1], CROWD, threads, spoken) as many,
    ):
        await measure.alternate(2, single.turn, many.turn)
        samples = await measure.alternate(STREAMS, single.turn, many.turn)
    size = len("".join(spoken.texts).encode()) / 1e6
    rate = CROWD * size / samples[1].median
    return [
        slower(f"turn of {UPDATES:,} updates, {CROWD} editors against one", samples, MOST_FOR_CROWD),
        Row(name="… text told to all of them, MB/s", ours=f"{rate:.1f}", number=rate),
    ]


class _Watched(contextlib.ExitStack):
    """A session and the editors that watch it; the first one sends the prompts."""

    def __init__(
        self,
        server: ServerProcess,
        repo: Path,
        session_id: str,
        count: int,
        threads: ThreadPoolExecutor,
        spoken: Recording,
    ) -> None:
        super().__init__()
        self._session_id = session_id
        self._threads = threads
        self._spoken = spoken
        self._editors = [self.enter_context(Editor(server, repo)) for _ in range(count)]
        for editor in self._editors:
            editor.resume(session_id)

    async def turn(self) -> float:
        """Returns the seconds until all editors have the whole text."""
        loop, characters = asyncio.get_running_loop(), self._spoken.characters
        hearing = [loop.run_in_executor(self._threads, editor.hear, characters) for editor in self._editors]
        start = time.monotonic()
        self._editors[0].prompt(self._session_id, "Go on.")
        heard = await asyncio.gather(*hearing)
        self._editors[0].answer()
        if any(recording.digest(texts) != self._spoken.digest for _, texts in heard):
            raise RuntimeError("an editor ended with another text")
        return max(moment for moment, _ in heard) - start
