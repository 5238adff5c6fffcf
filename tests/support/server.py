"""Runs a whole server for tests and benchmarks: in this process (quick, with access to its services) or as a real
`bough serve`."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import httpx
from litestar import Litestar

from bough.agents.keeper_client import keeper_folder
from bough.agents.keeper_client.keeper_launcher import KeeperLauncher
from bough.agents.pty_client.start_terminal import end_terminal
from bough.api.page.routes import BUILT
from bough.api.server import app
from bough.api.server.serve import serve
from bough.app import running
from bough.core.services import Services
from bough.settings import Settings
from tests.support.client import Client
from tests.support.repos import make_repo
from tests.support.server_forker import ForkedProcess, ServerForker

# A server is up in well under a second; on a heavily loaded machine it takes much longer.
READY_WITHIN = 120.0
# Most tests look at an agent's processes, or let it touch files beside its folder to see what it does, so it runs
# unconfined. `BOUGH_SANDBOX=auto` runs them in the sandbox; tests/attacks/sandbox/test_box.py always does.
SANDBOX = os.environ.get("BOUGH_SANDBOX", "off")
# Servers under test speak plain HTTP: loading certificates for each client would only take time (`verify=False`).


# Building the application takes longer than all else in a server's start. It knows no server, so all of them share it.
_application = functools.lru_cache(maxsize=8)(app.application)


def shared_application(max_body: int, page_folder: Path) -> Litestar:
    """Returns an application for servers under test, with a small page in place of the real one if that is not built:
    nobody can sign in without a page."""
    is_built = (page_folder / "index.html").exists()
    return _application(max_body, page_folder if is_built or page_folder != BUILT else _small_page())


@functools.cache
def _small_page() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="bough-page-"))
    atexit.register(shutil.rmtree, folder)
    (folder / "index.html").write_text("<!doctype html><title>Bough</title>", "utf-8")
    return folder


app.application = shared_application


@dataclass
class Running:
    """A running server and a client that may do everything."""

    url: str
    token: str
    data: Path
    root: Path
    client: Client
    services: Services

    def repo(self, name: str = "repo") -> Path:
        """Creates a repository inside the workspace root."""
        return make_repo(self.root / name)


@contextlib.asynccontextmanager
async def serving(folder: Path, **changes: Any) -> AsyncGenerator[Running]:
    """Runs a server in this event loop, with its data and workspace below `folder`."""
    root = folder / "work"
    root.mkdir(parents=True, exist_ok=True)
    defaults: dict[str, Any] = {
        "data": str(folder / "data"),
        "workspace_root": str(root),
        "port": 0,
        "stop_agents": True,
        "sandbox": SANDBOX,
        "poll_checks": 0,
    }
    settings = Settings(**(defaults | changes))
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    built: list[Services] = []

    @contextlib.asynccontextmanager
    async def keeping(settings: Settings, address: str | None) -> AsyncGenerator[Services]:
        async with running(settings, address=address) as services:
            built.append(services)
            yield services

    def announce(url: str, _link: str) -> None:
        ready.set_result(url)

    stop = asyncio.Event()
    server = asyncio.create_task(serve(settings, keeping, announce, stop))
    try:
        await asyncio.wait((server, ready), return_when=asyncio.FIRST_COMPLETED)
        if server.done():
            server.result()
        url = ready.result()
        token = json.loads((settings.data_path / "server.json").read_text())["token"]
        async with httpx.AsyncClient(
            base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=30, verify=False
        ) as http:
            yield Running(url, token, settings.data_path, root, Client(http, url, token), built[0])
    finally:
        stop.set()
        await server


@dataclass
class ServerProcess:
    """A real `bough serve` in a process of its own, which can be killed."""

    data: Path
    root: Path
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    module: str = "bough"
    # Forks the server instead of starting a new program; then `module` does not count.
    forker: ServerForker | None = None
    process: asyncio.subprocess.Process | ForkedProcess | None = None
    url: str = ""
    token: str = ""

    async def start(self) -> None:
        """Starts the server and waits until it is ready; kills it if that fails."""
        self.root.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(parents=True, exist_ok=True)
        arguments = ("serve", "--port", "0", "--data", str(self.data), "--workspace-root", str(self.root), *self.flags)
        env = os.environ | {"BOUGH_SANDBOX": SANDBOX} | dict(self.env)
        with (self.data / "server.log").open("ab") as log:
            if self.forker is not None:
                self.process = await self.forker.launch(arguments, env, log.fileno())
            else:
                self.process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", self.module, *arguments),
                    env=env,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                )
        assert self.process.stdout is not None
        line = b""
        try:
            async with asyncio.timeout(READY_WITHIN):
                line = await self.process.stdout.readline()
        finally:
            if not line:
                await self.stop(signal.SIGKILL)
        if not line:
            raise RuntimeError(f"bough serve did not start: {(self.data / 'server.log').read_text()[-2000:]}")
        about = json.loads((self.data / "server.json").read_text())
        self.url, self.token = about["url"], about["token"]

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends the server with a signal and returns its exit code."""
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await self.process.wait()

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Ends the server and its keepers, whatever the test did."""
        if self.process is not None:
            await self.stop(signal.SIGKILL)
        keepers = KeeperLauncher(self.data / "keepers")
        await asyncio.gather(*(keepers.drop(name) for name in keepers.names()))
        for folder in (path for name in ("terminals", "runs") for path in keeper_folder.list_keepers(self.data / name)):
            await end_terminal(folder)

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncGenerator[Client]:
        headers = {"authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30, verify=False) as http:
            yield Client(http, self.url, self.token)
