"""Implements `own` on PostgreSQL: an advisory lock on its own connection, freed when that ends."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from bough.errors import BoughError, Busy
from bough.storage.postgres_listener import RETRY_MAX_SECONDS, RETRY_SECONDS, close, until_lost
from bough.storage.postgres_tx import TryAgain, connect, named_errors

log = structlog.get_logger("bough.storage")

# How often a name is tried to take whose holder is just ending.
TAKE_TRIES = 40
# The lock's connection is asked this often whether it lives, so that a server that lost its lock stops within seconds.
PING_SECONDS = 2.0
_HOLDER = (
    "SELECT l.pid, a.backend_start::text FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
    "WHERE l.locktype = 'advisory' AND l.granted "
    "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND l.classid = ($1::bigint >> 32 & 4294967295)::oid AND l.objid = ($1::bigint & 4294967295)::oid"
)
_SELF = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"


def key(name: str) -> int:
    """Returns the number of an advisory lock, because PostgreSQL does not know them by name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


class _Lock:
    """A connection that holds a name, and its server process, by which it is known when it breaks."""

    def __init__(self, connection: Any, process: tuple[int, str]) -> None:
        self.connection = connection
        self.process = process


@asynccontextmanager
async def own(url: str, name: str) -> AsyncGenerator[None]:
    """Holds the name. If another process takes it over, the body is cancelled and raises `Busy`."""
    lock = await _take(url, name)
    if lock is None:
        raise _held(name)
    held = [lock]
    owner = asyncio.current_task()
    assert owner is not None, "own() is entered from a task"

    async def guard() -> None:
        try:
            while True:
                await until_lost(held[0].connection, PING_SECONDS)
                again = await _reclaim(url, name, held.pop().process)
                if again is None:
                    break
                held.append(again)
        except Exception as error:
            log.error("lock_not_guarded", name=name, error=repr(error))
        owner.cancel()

    guarding = asyncio.create_task(guard(), name=f"bough-own-{name}")
    try:
        yield
    except asyncio.CancelledError as error:
        if guarding.done():
            owner.uncancel()
            raise _held(name) from error
        raise
    finally:
        guarding.cancel()
        with suppress(asyncio.CancelledError):
            await guarding
        for lock in held:
            await close(lock.connection)


def _held(name: str) -> Busy:
    return Busy(
        "database_in_use", f"Another process holds '{name}' of this database. Stop that server first.", name=name
    )


async def _take(url: str, name: str, mine: tuple[int, str] | None = None) -> _Lock | None:
    """Takes the name; returns None if another process has it. `mine` is the server process of our own broken connection
    that may still hold it: PostgreSQL takes up to half a minute to notice that a connection is dead."""
    try:
        connection = await connect(url)
        try:
            with named_errors():
                for _ in range(TAKE_TRIES):
                    if await connection.fetchval("SELECT pg_try_advisory_lock($1)", key(f"own {name}")):
                        return _Lock(connection, tuple(await connection.fetchrow(_SELF)))
                    holder = await connection.fetchrow(_HOLDER, key(f"own {name}"))
                    if holder is not None and tuple(holder) != mine:
                        break
                    if holder is not None:
                        await connection.execute("SELECT pg_terminate_backend($1)", holder[0])
                    await asyncio.sleep(RETRY_SECONDS)
        except BaseException:
            connection.terminate()
            raise
        await close(connection)
        return None
    except TryAgain as error:
        raise error.given_up() from error


async def _reclaim(url: str, name: str, mine: tuple[int, str]) -> _Lock | None:
    """Takes the name again after a broken connection; returns None if another process has it.

    While PostgreSQL is unreachable nothing can be written, so this keeps trying."""
    pause = RETRY_SECONDS
    while True:
        with suppress(BoughError):
            return await _take(url, name, mine)
        await asyncio.sleep(pause)
        pause = min(2 * pause, RETRY_MAX_SECONDS)
