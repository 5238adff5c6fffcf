"""Runs an agent as a process on stdin and stdout until its input ends or a signal stops it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any

from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.server import AgentServer


async def serve(make_server: Callable[[ClientConnection], AgentServer[Any, Any]]) -> None:
    """Serves the client on stdin and stdout until it closes them, or until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    connection = ClientConnection(sys.stdin.fileno(), sys.stdout.fileno())
    server = make_server(connection)

    async def listen() -> None:
        async for message in connection.messages():
            server.receive(message)
        stopped.set()

    listening = asyncio.create_task(listen())
    await stopped.wait()
    listening.cancel()
    await server.stop()
    connection.output.flush()
