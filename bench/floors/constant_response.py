"""Serves the floor of every HTTP response: the same framework, server and authentication as Bough's, with a route that
returns a given number of bytes. `python -m bench.floors.constant_response` prints its URL and serves until it is
ended."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncGenerator
from typing import Annotated, cast

import uvicorn
import uvloop
from litestar import Litestar, Response, get
from litestar.params import PathParameter

from bench.support import measure
from bough.api.http.auth import RequestGate
from bough.api.http.server_parts import ServerParts
from bough.api.server.middleware import GateMiddleware
from bough.api.server.serve import Server
from bough.core.services import Services
from bough.settings import Settings

TOKEN = "constant"

_bodies: dict[int, bytes] = {}


@get("/constant/{size:int}")
async def constant(size: Annotated[int, PathParameter(description="How many bytes.")]) -> Response[bytes]:
    body = _bodies.setdefault(size, b"x" * size)
    return Response(body, media_type="application/json")


def _parts() -> ServerParts:
    """Returns what authentication needs; no route here uses a service."""
    return ServerParts(cast("Services", None), RequestGate(TOKEN, Settings()))


async def serve() -> None:
    routes = Litestar([constant], openapi_config=None, logging_config=None)
    app = GateMiddleware(routes, _parts(), {"/constant/{size}": frozenset({"GET"})})
    config = uvicorn.Config(app, loop="none", lifespan="off", log_config=None, access_log=False, server_header=False)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        await Server(config, lambda: print(url, flush=True)).serve([listening])


@contextlib.asynccontextmanager
async def running() -> AsyncGenerator[tuple[str, asyncio.subprocess.Process]]:
    """Runs the program in a process of its own and yields its URL and the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.floors.constant_response", cwd=measure.ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield await measure.first_line(process), process
    finally:
        process.terminate()
        await process.wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())
