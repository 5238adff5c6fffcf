"""Owns `own` and `slot` on PostgreSQL: advisory locks on connections of their own, freed when those end.

Transactions are left to `postgres`.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from bough.errors import BoughError, Busy
from bough.storage.backend import Listeners
from bough.storage.postgres_listener import CHANNEL, RETRY_MAX_SECONDS, RETRY_SECONDS, close, until_lost
from bough.storage.postgres_tx import TryAgain, connect, named_errors

# After a break the server may for a while take our own dead connection for a living holder. Its keepalives
# find out within 30 s (see postgres_tx), so only after that is the holder really another.
RECLAIM_SECONDS = 35.0
# A place that is given back is announced; only one freed by a death is found by looking.
SLOT_POLL_SECONDS = 0.5

_TAKE_SLOT = """
    SELECT number FROM generate_series(0, $2::int - 1) AS number
    WHERE CASE WHEN number = ANY($3::int[]) THEN FALSE ELSE pg_try_advisory_lock($1::int, number) END
    LIMIT 1
"""


def key(name: str, size: int) -> int:
    """Name an advisory lock, which PostgreSQL knows by number only: 8 bytes for a lock, 4 for a group of them."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:size], "big", signed=True)


@asynccontextmanager
async def own(url: str, name: str) -> AsyncGenerator[None]:
    """Hold the name; if it is lost to another while we live, the body is cancelled and raises `Busy`."""
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
    """Return a connection that holds the name, or None if another does."""
    try:
        connection = await connect(url)
        try:
            with named_errors():
                if await connection.fetchval("SELECT pg_try_advisory_lock($1)", key(f"own {name}", 8)):
                    return connection
        except BaseException:
            connection.terminate()
            raise
        await close(connection)
        return None
    except TryAgain as error:
        raise error.given_up() from error


async def _reclaim(url: str, name: str) -> Any:
    """Take the name again after a broken connection; None when another has it for good.

    While PostgreSQL cannot be reached nobody else can take it either, so we try on.
    """
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


class Slots:
    """The slots that this process holds, all on one connection.

    When that connection breaks, the held ones are taken again with the next use; others may come in between.
    """

    def __init__(self, url: str, listeners: Listeners) -> None:
        self._url = url
        self._listeners = listeners
        self._held: dict[str, set[int]] = {}
        self._connection: Any = None
        self._one_at_a_time = asyncio.Lock()

    @asynccontextmanager
    async def slot(self, name: str, limit: int) -> AsyncGenerator[int]:
        freed = asyncio.Event()
        forget = self._listeners.add(f"slot {name}", lambda _: freed.set())
        try:
            while (number := await self._take(name, limit)) is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(SLOT_POLL_SECONDS):
                        await freed.wait()
                freed.clear()
        finally:
            forget()
        try:
            yield number
        finally:
            await self._give_back(name, number)

    async def close(self) -> None:
        if self._connection is not None:
            await close(self._connection)

    async def _take(self, name: str, limit: int) -> int | None:
        async with self._one_at_a_time:
            held = self._held.setdefault(name, set())
            number = await self._call(
                lambda connection: connection.fetchval(_TAKE_SLOT, key(name, 4), limit, list(held))
            )
            if number is not None:
                held.add(number)
            return number

    async def _give_back(self, name: str, number: int) -> None:
        async with self._one_at_a_time:
            self._held[name].discard(number)
            with suppress(Busy):  # a connection that is gone holds nothing
                await self._call(
                    lambda connection: connection.execute(
                        "SELECT pg_advisory_unlock($1::int, $2::int), pg_notify($3, $4)",
                        *(key(name, 4), number, CHANNEL, f"slot {name}\n{number}"),
                    )
                )

    async def _call(self, ask: Callable[[Any], Any]) -> Any:
        try:
            if self._connection is None or self._connection.is_closed():
                self._connection = await connect(self._url)
                for name, numbers in self._held.items():
                    for number in numbers:
                        await self._connection.execute(
                            "SELECT pg_try_advisory_lock($1::int, $2::int)", key(name, 4), number
                        )
            with named_errors():
                return await ask(self._connection)
        except TryAgain as error:
            raise error.given_up() from error
