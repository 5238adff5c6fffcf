"""Implements `own` on PostgreSQL: an advisory lock on its own connection, freed when that ends."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from bough.errors import BoughError, Busy
from bough.storage.postgres_listener import RETRY_MAX_SECONDS, RETRY_SECONDS, close, until_lost
from bough.storage.postgres_tx import TryAgain, connect, named_errors

# After a break, the server may treat our own dead connection as a live holder. Its keepalives notice within
# 30 s (see postgres_tx), so only after that is the holder really another process.
RECLAIM_SECONDS = 35.0


def key(name: str) -> int:
    """Returns the number of an advisory lock, because PostgreSQL does not know them by name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


@asynccontextmanager
async def own(url: str, name: str) -> AsyncGenerator[None]:
    """Holds the name. If another process takes it over, the body is cancelled and raises `Busy`."""
    connection = await _take(url, name)
    if connection is None:
        raise _held(name)
    owner = asyncio.current_task()
    assert owner is not None, "own() is entered from a task"
    lost = False

    async def guard(current: Any) -> None:
        nonlocal connection, lost
        while True:
            await until_lost(current)
            connection = current = await _reclaim(url, name)
            if current is None:
                lost = True
                owner.cancel()
                return

    guarding = asyncio.create_task(guard(connection), name=f"bough-own-{name}")
    try:
        yield
    except asyncio.CancelledError as error:
        if lost:
            owner.uncancel()
            raise _held(name) from error
        raise
    finally:
        guarding.cancel()
        with suppress(asyncio.CancelledError):
            await guarding
        if connection is not None:
            await close(connection)


def _held(name: str) -> Busy:
    return Busy("database_in_use", f"Another process holds '{name}' of this database.", name=name)


async def _take(url: str, name: str) -> Any:
    """Returns a connection that holds the name, or None if another process does."""
    try:
        connection = await connect(url)
        try:
            with named_errors():
                if await connection.fetchval("SELECT pg_try_advisory_lock($1)", key(f"own {name}")):
                    return connection
        except BaseException:
            connection.terminate()
            raise
        await close(connection)
        return None
    except TryAgain as error:
        raise error.given_up() from error


async def _reclaim(url: str, name: str) -> Any:
    """Takes the name again after a broken connection; returns None if another process has it.

    While PostgreSQL is unreachable nobody else can take it either, so this keeps trying."""
    pause, refused_since = RETRY_SECONDS, None
    while True:
        try:
            connection = await _take(url, name)
            if connection is not None:
                return connection
            refused_since = refused_since or time.monotonic()
            if time.monotonic() - refused_since > RECLAIM_SECONDS:
                return None
        except BoughError:
            refused_since = None
        await asyncio.sleep(pause)
        pause = min(2 * pause, RETRY_MAX_SECONDS)
