"""Measures fifty busy sessions: how long a restarted server needs to find all their agents again, and how much memory
it uses while all of them stream at once."""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from websockets.asyncio.client import connect

from bench.clients.http import Http
from bench.support import measure, recording, turns
from bench.support.measure import Sample
from bench.support.recording import Recording
from bench.support.report import Result, Row, duration
from tests.support.server import ServerProcess

CROWD = 50
KILLS = 5
MOST_SECONDS = 2.0
# Updates per turn of each session: a tenth of `stream`, because there are many sessions.
UPDATES = 2_000
STREAMS = 3
MOST_GROWTH = 1.25
# The time until fifty agents with their keepers run, on two cores.
PATIENCE = 120.0
LOOK = 0.02
ENV = {"BOUGH_MAX_AGENTS": str(CROWD), "BOUGH_MAX_SESSIONS": str(CROWD), "BOUGH_STOP_AGENTS": "true"}


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spoken = recording.make(UPDATES)
        command = turns.replaying(spoken.save(folder / "turn.jsonl"))
        rows = [*await _found_again(folder / "found"), *await _streams(folder / "streams", command, spoken)]
    return Result(title="crowd", about=_ABOUT, rows=rows)


_ABOUT = f"""\
- **Setup:** {CROWD} agents are in the middle of a turn and say a word ten times a second. Their server is killed
  (SIGKILL) and restarted, {KILLS} times.
- **Found again:** how much longer the start takes, from the process to its link on stdout, than the start of a
  server on the same folder without agents (floor). Nobody is served before all are attached.
- **Heard again:** from the link on stdout until a WebSocket client has received new words of every session.
- **Memory:** {CROWD} agents play a recording of {UPDATES:,} updates at the same time, {STREAMS} times. The peak of
  the server's resident memory, sampled every {LOOK * 1e3:.0f} ms, in the last of these against the first."""


# Found again


async def _found_again(folder: Path) -> list[Row]:
    command = [sys.executable, "-m", "tests.support.misbehaving_agents.bad_ends.streams_forever"]
    floor, ours, heard = Sample([]), Sample([]), Sample([])
    async with turns.server(folder, command, env=ENV) as server:
        with Http(server.url, server.token) as http:
            session_ids = turns.open_session(http, folder, CROWD)
        for _ in range(KILLS):
            await server.stop(signal.SIGKILL)
            floor.values.append(await _start(server))
        with Http(server.url, server.token) as http:
            for session_id in session_ids:
                _expect(http.post(f"/api/sessions/{session_id}/prompt", {"text": "Talk."}).status, 202)
        await _speaking(server, set(session_ids))
        for _ in range(KILLS):
            await server.stop(signal.SIGKILL)
            ours.values.append(await _start(server))
            heard.values.append(await _speaking(server, set(session_ids)))
    later = ours.median - floor.median
    return [
        Row(
            name=f"{CROWD} agents found again",
            floor=duration(floor),
            ours=duration(ours),
            ratio=f"+{later:.2f} s",
            target=f"≤ +{MOST_SECONDS:.0f} s",
            number=later,
            ok=later <= MOST_SECONDS,
        ),
        Row(
            name=f"{CROWD} sessions heard again",
            ours=duration(heard),
            target=f"≤ {MOST_SECONDS:.0f} s",
            number=heard.median,
            ok=heard.median <= MOST_SECONDS,
        ),
    ]


async def _start(server: ServerProcess) -> float:
    start = time.perf_counter()
    await server.start()
    return time.perf_counter() - start


async def _speaking(server: ServerProcess, missing: set[str]) -> float:
    """Returns the seconds until each of these sessions has sent new text."""
    start = time.perf_counter()
    async with asyncio.timeout(PATIENCE), _events(server) as socket:
        while missing:
            event: dict[str, Any] = msgspec.json.decode(await socket.recv())
            spoken = event["type"] == "message.delta" or (
                event["type"] == "message.created" and event["data"]["role"] == "agent"
            )
            if spoken:
                missing.discard(event["sessionId"])
        return time.perf_counter() - start


def _events(server: ServerProcess) -> connect:
    address = f"{server.url.replace('http', 'ws', 1)}/api/events"
    headers = {"Authorization": f"Bearer {server.token}"}
    # It stops reading when it closes, so it would not see that the server closes too.
    return connect(address, additional_headers=headers, max_size=None, close_timeout=0.1)


# Memory


async def _streams(folder: Path, command: list[str], spoken: Recording) -> list[Row]:
    async with turns.server(folder, command, env=ENV) as server:
        assert server.process is not None
        with Http(server.url, server.token) as http:
            session_ids = turns.open_session(http, folder, CROWD)
        before = measure.resident(server.process.pid)
        await _all_at_once(server, session_ids)  # wakes the agents
        most = [await _all_at_once(server, session_ids) for _ in range(STREAMS)]
        for session_id in session_ids:
            _check_whole(server, session_id, spoken)
    size, growth = most[-1][0], most[-1][0] / most[0][0]
    seconds = Sample([taken for _, taken in most])
    return [
        Row(
            name=f"resident at most while {CROWD} stream (before: {before:.0f} MB)",
            floor=f"{most[0][0]:.0f} MB",
            ours=f"{size:.0f} MB",
            ratio=f"{growth:.2f}",
            target=f"≤ {MOST_GROWTH}",
            number=growth,
            ok=growth <= MOST_GROWTH,
        ),
        Row(name="… for each session", ours=f"{(size - before) / CROWD:.2f} MB", number=(size - before) / CROWD),
        Row(
            name="… updates/s of all together",
            ours=f"{CROWD * spoken.updates / seconds.median:,.0f}",
            number=CROWD * spoken.updates / seconds.median,
        ),
    ]


async def _all_at_once(server: ServerProcess, session_ids: list[str]) -> tuple[float, float]:
    """Prompts all sessions and waits for the end of all turns; returns the peak of resident memory and the seconds."""
    assert server.process is not None
    pid, most = server.process.pid, 0.0
    start = time.perf_counter()
    missing: set[str] = set()
    with Http(server.url, server.token) as http:
        for session_id in session_ids:
            answer = http.post(f"/api/sessions/{session_id}/prompt", {"text": "Go on."})
            _expect(answer.status, 202)
            missing.add(answer.json()["taskId"])
        async with asyncio.timeout(PATIENCE):
            while missing:
                most = max(most, measure.resident(pid))
                task_id = next(iter(missing))
                task = http.get(f"/api/tasks/{task_id}").json()
                if task["status"] == "completed":
                    missing.discard(task_id)
                elif task["status"] in ("failed", "cancelled"):
                    raise RuntimeError(f"a turn ended as {task['status']}: {task['error']}")
                else:
                    await asyncio.sleep(LOOK)
    return most, time.perf_counter() - start


def _check_whole(server: ServerProcess, session_id: str, spoken: Recording) -> None:
    with Http(server.url, server.token) as http:
        messages = http.get(f"/api/sessions/{session_id}/messages?limit={2 * len(spoken.texts)}").json()
    texts = [item["content"]["text"] for item in messages if item["content"]["type"] in ("text", "thought")]
    if recording.digest(texts[-len(spoken.texts) :]) != spoken.digest:
        raise RuntimeError("the database holds another text")


def _expect(status: int, expected: int) -> None:
    if status != expected:
        raise RuntimeError(f"answered {status} instead of {expected}")
