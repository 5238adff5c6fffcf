"""Runs scripted models, in this event loop or as a process that never outlives the test, and answers a test's questions
about their requests."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import httpx
import msgspec
import uvicorn

from tests.support.eventually import eventually
from tests.support.scripted_model.records import Book, Entry, Last
from tests.support.scripted_model.server import DELAY, ScriptedServer

POLL = 0.02
"""Seconds between two looks at a model's recorded requests."""
LINGER = 3
"""Seconds for the last answers to be sent; it takes no time once streams are cut off."""
HOST = "127.0.0.1"


class ScriptedModel:
    """A model that runs at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def log(self) -> list[Entry]:
        """Returns all requests since the last reset, in order."""
        return msgspec.json.decode(await self._ask("GET", "log"), type=list[Entry])

    async def last(self) -> Last:
        """Returns the last conversation as it was sent."""
        return msgspec.json.decode(await self._ask("GET", "last"), type=Last)

    async def reset(self) -> None:
        await self._ask("POST", "reset")

    async def open(self, gate: str) -> None:
        """Opens a gate of the script for every request that waits there, now or later."""
        await self._ask("POST", f"open/{gate}")

    async def wait_for(self, matches: Callable[[Entry], bool]) -> Entry:
        """Returns the first request that matches, as soon as there is one."""

        async def look() -> Entry | None:
            return next((entry for entry in await self.log() if matches(entry)), None)

        return await eventually(look, "the agent asks the model", pause=POLL)

    async def _ask(self, method: str, name: str) -> bytes:
        # A client for each request: a model may live longer than the event loop of a test.
        async with httpx.AsyncClient(base_url=self.url, trust_env=False) as http:
            return (await http.request(method, f"/_fake/{name}")).raise_for_status().content


class _Server(uvicorn.Server):
    """Uvicorn that handles no signals and tells when it is ready."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@contextlib.asynccontextmanager
async def scripted_model(
    *, port: int = 0, delay: float = DELAY, log: Path | None = None, dump: Path | None = None
) -> AsyncGenerator[ScriptedModel]:
    """Runs a model in this event loop; port 0 takes any free one."""
    app = ScriptedServer(Book(log, dump), delay)
    config = uvicorn.Config(
        app, loop="none", lifespan="off", ws="none", log_config=None, access_log=False, timeout_graceful_shutdown=LINGER
    )
    with socket.create_server((HOST, port)) as listener:
        server = _Server(config)
        running = asyncio.create_task(server.serve([listener]))
        ready = asyncio.create_task(server.ready.wait())
        try:
            await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
            yield ScriptedModel(f"http://{HOST}:{listener.getsockname()[1]}")
        finally:
            ready.cancel()
            app.close()
            server.should_exit = True
            await running


@contextlib.contextmanager
def scripted_model_process() -> Generator[ScriptedModel]:
    """Runs a model as a process, for tests that share one although each has its own event loop."""
    command = [sys.executable, "-m", "tests.support.scripted_model", "--port", "0", "--until-eof"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError("The scripted model did not start.")
        yield ScriptedModel(url)
        # Leaving the block closes its input, which ends it.
