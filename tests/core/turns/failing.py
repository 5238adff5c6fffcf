"""Makes a real database fail for a while, as a busy one does: at one named query, a given number of times. It can also
be slow to acknowledge commits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, Literal, TypeVar

from bough.errors import Busy
from bough.storage.backend import Backend, Tx
from bough.storage.queries import Query
from tests.support.client import PATIENCE

T = TypeVar("T")


class Failures:
    """Holds the query that fails and how often it still does."""

    def __init__(self, query: Query, times: int) -> None:
        self._query = query
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self.left = times

    def meet(self, query: Query) -> None:
        if query is self._query and self.left:
            self.left -= 1
            if not self.left:
                # SQLite runs transactions in a separate thread.
                self._loop.call_soon_threadsafe(self._over.set)
            raise Busy("database_busy", "The database is busy; try again.")

    async def over(self) -> None:
        """Waits until it has failed as often as requested."""
        async with asyncio.timeout(PATIENCE):
            await self._over.wait()


class FailingTx:
    """A transaction that fails at one query and otherwise passes everything on."""

    def __init__(self, tx: Tx, failures: Failures) -> None:
        self._tx = tx
        self._failures = failures

    async def all(self, query: Query, type: type[T], /, **params: Any) -> list[T]:
        self._failures.meet(query)
        return await self._tx.all(query, type, **params)

    async def one(self, query: Query, type: type[T], /, **params: Any) -> T | None:
        self._failures.meet(query)
        return await self._tx.one(query, type, **params)

    async def value(self, query: Query, /, **params: Any) -> Any | None:
        self._failures.meet(query)
        return await self._tx.value(query, **params)

    async def run(self, query: Query, /, **params: Any) -> int:
        self._failures.meet(query)
        return await self._tx.run(query, **params)

    def notify(self, channel: str, payload: str) -> None:
        self._tx.notify(channel, payload)


@contextlib.contextmanager
def failing(db: Backend, kind: Literal["read", "transaction"], query: Query, times: int = 1) -> Generator[Failures]:
    """Makes the first `times` reads or transactions that reach this query fail."""
    failures = Failures(query, times)
    original: Callable[..., Awaitable[Any]] = getattr(db, kind)

    async def spoilt(work: Callable[[Tx], Awaitable[Any]], **options: Any) -> Any:
        async def spoilt_work(tx: Tx) -> Any:
            return await work(FailingTx(tx, failures))

        return await original(spoilt_work, **options)

    setattr(db, kind, spoilt)
    try:
        yield failures
    finally:
        setattr(db, kind, original)
    assert failures.left == 0, "nobody came to that query so often"


def hold_answers(db: Backend, last: Path) -> None:
    """Delays the acknowledgment of commits from now on, until this file is gone and a moment longer."""
    original: Callable[..., Awaitable[Any]] = db.transaction

    async def held(work: Callable[[Tx], Awaitable[Any]]) -> Any:
        result = await original(work)
        while last.exists():  # noqa: ASYNC110, ASYNC240 - a file tells nobody that it goes
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        return result

    db.transaction = held
