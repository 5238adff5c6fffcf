"""Owns an agent as a process on stdin and stdout: its start, and its end by end of input or by a signal.
It leaves the command line to the agent, and everything in between to its desk.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import Any

from bough.agents.acp_server.dispatch import Desk
from bough.agents.acp_server.rpc import Connection


async def serve(make: Callable[[Connection], Desk[Any]]) -> None:
    """Serves the client on stdin and stdout until it closes them, or until SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    connection = Connection(sys.stdin.fileno(), sys.stdout.fileno())
    desk = make(connection)

    async def listen() -> None:
        async for message in connection.messages():
            desk.receive(message)
        stopped.set()

    listening = asyncio.create_task(listen())
    await stopped.wait()
    listening.cancel()
    await desk.stop()
    connection.output.flush()
