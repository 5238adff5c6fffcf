"""Receives PostgreSQL's notifications on its own connection and reconnects after a loss."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from bough.errors import BoughError
from bough.storage.backend import Listeners
from bough.storage.postgres_tx import DRIVER_ERRORS, TryAgain, connect

# One channel for everything, so that subscribing happens within this process and has no gap.
CHANNEL = "bough"
# A connection can die silently (a cable, a firewall); a regular query detects it.
PING_SECONDS = 20.0
PING_TIMEOUT_SECONDS = 5.0
# First and longest pause between reconnects.
RETRY_SECONDS, RETRY_MAX_SECONDS = 0.05, 2.0


class Listener:
    """Receives everything on `CHANNEL` and tells all listeners to scan again after a loss."""

    def __init__(self, url: str, listeners: Listeners) -> None:
        self._url = url
        self._listeners = listeners
        self._connection: Any = None
        self._keeping: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._connect()
        self._keeping = asyncio.create_task(self._keep(), name="bough-postgres-listener")

    async def stop(self) -> None:
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping
        if self._connection is not None:
            await close(self._connection)

    async def _connect(self) -> None:
        connection = await connect(self._url)
        await connection.add_listener(CHANNEL, self._hear)
        self._connection = connection

    async def _keep(self) -> None:
        while True:
            await until_lost(self._connection)
            pause = RETRY_SECONDS
            while True:
                try:
                    await self._connect()
                    break
                except (TryAgain, BoughError, *DRIVER_ERRORS):
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, RETRY_MAX_SECONDS)
            self._listeners.scan_again()

    def _hear(self, _connection: Any, _pid: int, _channel: str, payload: str) -> None:
        name, _, rest = payload.partition("\n")
        self._listeners.deliver(name, rest)


async def until_lost(connection: Any, ping_every: float = PING_SECONDS) -> None:
    """Returns when the connection has ended."""
    lost = asyncio.Event()

    def tell(_connection: Any) -> None:
        lost.set()

    connection.add_termination_listener(tell)
    while not (connection.is_closed() or lost.is_set()):
        try:
            async with asyncio.timeout(ping_every):
                await lost.wait()
        except TimeoutError:
            try:
                await connection.execute("SELECT 1", timeout=PING_TIMEOUT_SECONDS)
            except DRIVER_ERRORS:
                connection.terminate()
                return


async def close(connection: Any) -> None:
    """Closes politely but never waits long for a server that may be gone."""
    try:
        await connection.close(timeout=PING_TIMEOUT_SECONDS)
    except DRIVER_ERRORS:
        connection.terminate()
