"""Runs long turns through a server: an agent that plays a recording, a session that prompts it, and a subscriber that
must end with the whole text."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import msgspec

from bench.clients.http import Http
from bench.clients.listener import Heard
from bench.support import measure, recording
from bench.support.recording import Recording
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

WITH_KEEPERS, WITHOUT_KEEPERS = "bough", "bench.floors.without_keepers"


def replaying(path: Path) -> list[str]:
    """Returns the command of an agent that plays this recording."""
    return [sys.executable, "-m", "tests.support.misbehaving_agents.replay", str(path)]


class Turn:
    """A session of Bough with that program as its agent, and its subscriber."""

    def __init__(self, http: Http, session_id: str, listener: asyncio.subprocess.Process, spoken: Recording) -> None:
        self._http = http
        self._session_id = session_id
        self._listener = listener
        self._spoken = spoken
        self.frames = 0

    async def take(self) -> float:
        """Returns the seconds from the accepted prompt to the whole text at the subscriber."""
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
        """Checks the last turn in the database."""
        messages = self._http.get(
            f"/api/sessions/{self._session_id}/messages?limit={2 * len(self._spoken.texts)}"
        ).json()
        contents = [item["content"] for item in messages if item["role"] == "agent"]
        texts = [content["text"] for content in contents if content["type"] in ("text", "thought")]
        if recording.digest(texts[-len(self._spoken.texts) :]) != self._spoken.digest:
            raise RuntimeError("the database holds another text")


@contextlib.asynccontextmanager
async def server(
    folder: Path, command: Sequence[str], *, module: str = WITH_KEEPERS, env: Mapping[str, str] | None = None
) -> AsyncGenerator[ServerProcess]:
    """Runs a server whose catalog has the agent `bench` with this command."""
    agents = folder / "data" / "agents"
    agents.mkdir(parents=True)
    (agents / "bench.toml").write_text(f'title = "Bench"\ncommand = {json.dumps(list(command))}\n', "utf-8")
    whole = {"PYTHONPATH": str(measure.ROOT), **(env or {})}
    async with ServerProcess(folder / "data", folder / "work", module=module, env=whole) as running:
        yield running


def open_session(http: Http, folder: Path, count: int = 1) -> list[str]:
    """Creates this many sessions with that agent in one new repository."""
    repo = http.post("/api/repos", {"path": str(make_repo(folder / "work" / "repo"))}).json()
    opened = [http.post("/api/sessions", {"repoId": repo["id"], "agent": "bench"}) for _ in range(count)]
    return [response.json()["id"] for response in opened]


@contextlib.asynccontextmanager
async def subscribed(running: ServerProcess, folder: Path, spoken: Recording) -> AsyncGenerator[Turn]:
    """Yields a session with a subscriber in a process of its own."""
    with Http(running.url, running.token) as http:
        session_id = open_session(http, folder)[0]
        listener = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.clients.listener", running.url, running.token, session_id),
            str(spoken.characters),
            cwd=measure.ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            await measure.first_line(listener)
            yield Turn(http, session_id, listener, spoken)
        finally:
            listener.terminate()
            await listener.wait()
