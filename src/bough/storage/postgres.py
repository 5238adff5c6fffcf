"""Implements the PostgreSQL backend: a pool, and serializable transactions that are retried after a conflict."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from bough.errors import BoughError, Conflict, Invalid, Unavailable
from bough.storage import postgres_locks
from bough.storage.backend import Listeners, Tx
from bough.storage.postgres_listener import CHANNEL, Listener
from bough.storage.postgres_tx import (
    CONNECT_TIMEOUT_SECONDS,
    DRIVER_ERRORS,
    LONG_QUERY_TIMEOUT_SECONDS,
    QUERY_TIMEOUT_SECONDS,
    SETTINGS,
    PostgresTx,
    TryAgain,
    connect,
    leave_as_is,
    named_errors,
    set_up,
)

T = TypeVar("T")

POOL_MAX = 10
# More than a few concurrent writers mostly conflict with each other, and reads need connections too.
WRITERS_MAX = 4
# With the pauses below, this survives a PostgreSQL restart of some seconds.
ATTEMPTS = 12
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.005, 1.0
CLOSE_TIMEOUT_SECONDS = 5.0
# A caller learns after this time that PostgreSQL does not answer. Those that must not fail try again.
GIVE_UP_SECONDS = 30.0
# A connection that may be dead gets this long to roll back before it is closed.
ROLLBACK_TIMEOUT_SECONDS = 2.0
UNIQUE = "constraint_unique"

_PG: Any = asyncpg  # asyncpg carries no types

# SQLite has no row locks, so the shared SQL has none, and PostgreSQL must detect every conflict itself. Writers share
# the lock of an empty table; after losing a race, a writer takes it exclusively and cannot lose again. LOCK TABLE,
# unlike an advisory lock, runs before the snapshot is taken, and these modes do not block pg_dump.
_TURNS = "CREATE TABLE IF NOT EXISTS bough_turns ()"
# PostgreSQL empties unlogged tables when it recovers from a crash, and only then. Numbers of transactions whose records
# were lost in the crash are given away again, so that a number from before says nothing anymore.
_LIVES = "CREATE UNLOGGED TABLE IF NOT EXISTS bough_lives (id text)"
_LIVE = "INSERT INTO bough_lives (id) VALUES ($1)"
_STATUS = "SELECT txid_status($1), EXISTS (SELECT 1 FROM bough_lives WHERE id = $2)"
_RACE = "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE bough_turns IN ROW SHARE MODE"
_ALONE = "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE bough_turns IN EXCLUSIVE MODE"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresBackend:
    """A `Backend` on a PostgreSQL database that other processes may share."""

    dialect = "postgres"

    def __init__(self, url: str, pool: Any) -> None:
        self._url = url
        self._pool = pool
        self._listeners = Listeners()
        self._listener = Listener(url, self._listeners)
        self._writers = asyncio.Semaphore(WRITERS_MAX)
        self._closed = False
        self._hurrying = False
        # Marks the life of PostgreSQL that this process began in.
        self._life = uuid.uuid4().hex

    @classmethod
    async def open(cls, url: str) -> PostgresBackend:
        try:
            with named_errors():
                pool = await _PG.create_pool(
                    url,
                    min_size=1,
                    max_size=POOL_MAX,
                    timeout=CONNECT_TIMEOUT_SECONDS,
                    command_timeout=QUERY_TIMEOUT_SECONDS,
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
            # The error itself may quote a part of the password.
            raise Invalid(
                "database_url",
                "The database URL is invalid. Check its host and port, and write special characters as %XX.",
            ) from error
        except TryAgain as error:
            raise error.given_up() from error

    async def transaction(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        async with self._writers:
            return await self._repeat(work, _RACE)

    async def read(self, work: Callable[[Tx], Awaitable[T]], *, long: bool = False) -> T:
        return await self._repeat(work, _READ, LONG_QUERY_TIMEOUT_SECONDS if long else QUERY_TIMEOUT_SECONDS)

    async def check(self) -> None:
        """Asks whether the database may be written: a stand-by only answers reads."""
        try:
            with named_errors():
                read_only: str = await self._pool.fetchval("SHOW transaction_read_only")
        except TryAgain as error:
            raise error.given_up() from error
        if read_only == "on":
            raise Unavailable("database_unavailable", "PostgreSQL is read-only, so that nothing can be stored.")

    def state(self) -> int | None:
        """Unknown: asking the server takes as long as reading the rows."""
        return None

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        return self._listeners.add(channel, callback)

    def own(self, name: str) -> AbstractAsyncContextManager[None]:
        return postgres_locks.own(self._url, name)

    async def keep_copy(self, label: str) -> Path | None:
        """Copies nothing: only the administrator can judge the rights and space that a copy needs.

        The documentation says to take a backup before an upgrade."""
        return None

    def hurry(self) -> None:
        self._hurrying = True

    async def close(self) -> None:
        self._closed = True
        await self._listener.stop()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_SECONDS):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    async def _start(self) -> None:
        await self._listener.start()
        with suppress(Conflict), named_errors():  # another process may make it at the same moment
            await self._pool.execute(_TURNS)
        with suppress(Conflict), named_errors():
            await self._pool.execute(_LIVES)
        with named_errors():
            await self._pool.execute(_LIVE, self._life)

    async def _begin_life(self, connection: Any, ended: str) -> None:
        """Marks a new life of PostgreSQL after a crash, once."""
        if self._life == ended:
            self._life = uuid.uuid4().hex
            await connection.execute(_LIVE, self._life)

    async def _repeat(
        self, work: Callable[[Tx], Awaitable[T]], begin: str, query_timeout: float = QUERY_TIMEOUT_SECONDS
    ) -> T:
        pause = FIRST_PAUSE_SECONDS
        give_up = asyncio.get_running_loop().time() + GIVE_UP_SECONDS
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._attempt(work, begin, query_timeout)
            except Conflict as error:
                # PostgreSQL may report a duplicate key before it notices the race. Run alone, the error is real.
                if begin != _RACE or error.code != UNIQUE:
                    raise
                begin = _ALONE
            except TryAgain as error:
                if error.lost:
                    if self._hurrying:
                        # The server stops, and everybody else would wait as long for nothing.
                        self._closed = True
                    if self._closed or asyncio.get_running_loop().time() > give_up:
                        raise error.given_up() from error
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
                elif begin == _RACE:
                    begin = _ALONE
        try:
            return await self._attempt(work, begin, query_timeout)
        except TryAgain as error:
            raise error.given_up() from error

    async def _attempt(self, work: Callable[[Tx], Awaitable[T]], begin: str, query_timeout: float) -> T:
        """Tries `work` once in its own transaction. If the reply to the commit is lost, looks up what became of it."""
        if self._closed:
            raise Unavailable("database_closed", "The database is closed.")
        with named_errors():
            connection = await self._pool.acquire(timeout=CONNECT_TIMEOUT_SECONDS)
        number, life = None, self._life
        result: Any = None
        try:
            tx = PostgresTx(connection, query_timeout, reading=begin == _READ)
            try:
                with named_errors():
                    await connection.execute(begin)
                result = await work(tx)
                tx.refuse_if_failed()
                if begin != _READ:
                    number = await tx.send_notifications(CHANNEL)
            except BaseException as error:
                await _roll_back(connection, error)
                raise
            try:
                with named_errors():
                    await connection.execute("COMMIT")
            except BaseException as error:
                if not isinstance(error, TryAgain) or error.lost:
                    _cut(connection)
                raise
        except TryAgain as error:
            if error.lost and number is not None and await self._was_committed(number, life):
                return result
            raise
        finally:
            await self._pool.release(connection)
        return result

    async def _was_committed(self, number: int, life: str) -> bool:
        """Returns whether a transaction whose commit was not answered is stored. Waits for PostgreSQL to come back, and
        raises `Unavailable` with the code `commit_unknown` if it does not, or if it crashed in between and the number
        may be another transaction's."""
        loop = asyncio.get_running_loop()
        give_up, pause = loop.time() + GIVE_UP_SECONDS, FIRST_PAUSE_SECONDS
        while not self._closed and not self._hurrying and loop.time() < give_up:
            try:
                with named_errors():
                    connection = await connect(self._url)
                    try:
                        status, same_life = await connection.fetchrow(_STATUS, number, life)
                        if status == "committed" and not same_life:
                            await self._begin_life(connection, life)
                            break
                    finally:
                        connection.terminate()
            except TryAgain:
                status = "in progress"
            except BoughError as error:
                # A number that is still to come: PostgreSQL crashed before it wrote this transaction down.
                status = "aborted" if error.code == "query_parameters" else "in progress"
            if status != "in progress":
                return status == "committed"
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        raise Unavailable(
            "commit_unknown",
            "The connection broke during the commit, and PostgreSQL cannot tell whether it is stored. "
            "Check whether it is before you repeat the request.",
        )


async def _roll_back(connection: Any, error: BaseException) -> None:
    if isinstance(error, TryAgain) and error.lost:
        _cut(connection)
        return
    try:
        await connection.execute("ROLLBACK", timeout=ROLLBACK_TIMEOUT_SECONDS)
    except DRIVER_ERRORS:
        _cut(connection)


def _cut(connection: Any) -> None:
    """Closes a connection without a word to the server."""
    with suppress(*DRIVER_ERRORS):  # the pool may have released it already
        connection.terminate()
