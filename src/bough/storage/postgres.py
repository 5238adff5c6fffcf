"""Owns the PostgreSQL backend: a pool, and transactions that behave as if alone and are repeated if need be.

Statements are left to `postgres_tx`, notifications to `postgres_listener`, locks to `postgres_locks`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from bough.errors import Busy, Conflict, Invalid
from bough.storage import postgres_locks
from bough.storage.backend import Listeners, Tx
from bough.storage.postgres_listener import CHANNEL, Listener
from bough.storage.postgres_tx import (
    CONNECT_TIMEOUT_SECONDS,
    DRIVER_ERRORS,
    SETTINGS,
    PostgresTx,
    TryAgain,
    leave_as_is,
    named_errors,
    set_up,
)

T = TypeVar("T")

POOL_MAX = 10
# Beyond a few at once, writers of one process mostly get into each other's way, and reads need room too.
WRITERS_MAX = 4
# With the pauses below, a restart of PostgreSQL of some seconds is sat out.
ATTEMPTS = 12
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.005, 1.0
CLOSE_TIMEOUT_SECONDS = 10.0
UNIQUE = "constraint_unique"

_PG: Any = asyncpg  # asyncpg carries no types

# The same SQL serves SQLite, which knows no row locks: so PostgreSQL must notice every conflict by itself. Writers
# share an empty table's lock; who lost a race takes it for itself, and cannot lose again. LOCK TABLE comes
# before the snapshot is taken, unlike an advisory lock, and these modes leave pg_dump alone.
_TURNS = "CREATE TABLE IF NOT EXISTS bough_turns ()"
_RACE = "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE bough_turns IN ROW SHARE MODE"
_ALONE = "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE bough_turns IN EXCLUSIVE MODE"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresBackend:
    """A `Backend` on a PostgreSQL database, shared with any number of other processes."""

    dialect = "postgres"

    def __init__(self, url: str, pool: Any) -> None:
        self._url = url
        self._pool = pool
        self._listeners = Listeners()
        self._listener = Listener(url, self._listeners)
        self._slots = postgres_locks.Slots(url, self._listeners)
        self._writers = asyncio.Semaphore(WRITERS_MAX)
        self._closed = False

    @classmethod
    async def open(cls, url: str) -> PostgresBackend:
        try:
            with named_errors():
                pool = await _PG.create_pool(
                    url,
                    min_size=1,
                    max_size=POOL_MAX,
                    timeout=CONNECT_TIMEOUT_SECONDS,
                    server_settings=SETTINGS,
                    init=set_up,
                    reset=leave_as_is,
                )
            backend = cls(url, pool)
            try:
                await backend._start()
            except BaseException:
                await backend.close()
                raise
            return backend
        except ValueError as error:
            raise Invalid("database_url", f"The database URL is not understood: {error}") from error
        except TryAgain as error:
            raise error.given_up() from error

    async def transaction(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async with self._writers:
            return await self._repeat(work, _RACE)

    async def read(self, work: Callable[[Tx], Awaitable[T]], *, long: bool = False) -> T:
        return await self._repeat(work, _READ)

    def state(self) -> int | None:
        """Not told: asking the server takes as long as a look at the rows."""
        return None

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        return self._listeners.add(channel, callback)

    def own(self, name: str) -> AbstractAsyncContextManager[None]:
        return postgres_locks.own(self._url, name)

    def slot(self, name: str, limit: int) -> AbstractAsyncContextManager[int]:
        return self._slots.slot(name, limit)

    async def keep_copy(self, label: str) -> Path | None:
        """Keep nothing: copying a database needs rights and room that only its administrator can judge.

        PostgreSQL is run by someone who has backups; the guide says to take one before an upgrade.
        """
        return None

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        await self._listener.stop()
        await self._slots.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _start(self) -> None:
        await self._listener.start()
        with suppress(Conflict), named_errors():  # another process may make it at the same moment
            await self._pool.execute(_TURNS)

    async def _repeat(self, work: Callable[[Tx], Awaitable[T]], begin: str) -> T:
        pause = FIRST_PAUSE_SECONDS
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._attempt(work, begin)
            except Conflict as error:
                # PostgreSQL may see two that race for a key collide before it sees that they race. Alone, it is true.
                if begin != _RACE or error.code != UNIQUE:
                    raise
                begin = _ALONE
            except TryAgain as error:
                if error.lost:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                elif begin == _RACE:
                    begin = _ALONE
        try:
            return await self._attempt(work, begin)
        except TryAgain as error:
            raise error.given_up() from error

    async def _attempt(self, work: Callable[[Tx], Awaitable[T]], begin: str) -> T:
        if self._closed:
            raise Busy("database_closed", "The database is closed.")
        with named_errors():
            connection = await self._pool.acquire()
        try:
            return await _run(connection, work, begin)
        except TryAgain as error:
            if error.lost:
                with suppress(*DRIVER_ERRORS):  # the pool may have let go of it by itself
                    connection.terminate()
            raise
        finally:
            await self._pool.release(connection)


async def _run(connection: Any, work: Callable[[Tx], Awaitable[T]], begin: str) -> T:
    """Try `work` once, in a transaction of its own."""
    tx = PostgresTx(connection)
    try:
        with named_errors():
            await connection.execute(begin)
        result = await work(tx)
        tx.refuse_if_failed()
        await tx.send_notifications(CHANNEL)
    except BaseException:
        with suppress(*DRIVER_ERRORS):
            await connection.execute("ROLLBACK")
        raise
    try:
        with named_errors():
            await connection.execute("COMMIT")
    except TryAgain as error:
        if error.lost and begin != _READ:
            raise Busy("commit_unknown", "The connection broke during the commit: it may be stored or not.") from error
        raise
    return result
