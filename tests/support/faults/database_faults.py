"""A real database that fails: at one named query a given number of times, at random moments that a seed decides, or by
being slow to reply to commits. The tests that use it say what must happen then."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Literal, TypeVar

from bough.errors import Unavailable
from bough.storage.backend import Backend, Tx
from bough.storage.queries import Query
from tests.support.client import PATIENCE

T = TypeVar("T")

Fault = Literal["busy", "io", "read_only", "full", "lost"]
"""`lost` commits and then loses the reply; the others happen before the commit."""
ERRORS: dict[Fault, tuple[str, str]] = {
    "busy": ("database_busy", "The database is busy; try again."),
    "io": ("database_unavailable", "The database cannot be read or written: disk I/O error (SQLITE_IOERR_WRITE)."),
    "read_only": ("database_unavailable", "PostgreSQL cannot store or read this: read-only transaction."),
    "full": ("disk_full", "The disk of the database is full. Free some space on it."),
    "lost": ("commit_unknown", "The connection broke during the commit."),
}


def error(fault: Fault) -> Unavailable:
    return Unavailable(*ERRORS[fault])


class Failures:
    """Fails one query a number of times, in one way."""

    def __init__(self, query: Query, times: int, fault: Fault) -> None:
        self._query = query
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self.fault: Fault = fault
        self.left = times

    def meet(self, query: Query) -> bool:
        """Fails if this query is due to fail, and returns whether the reply to its commit is due to be lost."""
        if query is not self._query or not self.left:
            return False
        self.left -= 1
        if not self.left:
            # SQLite runs transactions in a separate thread.
            self._loop.call_soon_threadsafe(self._over.set)
        if self.fault != "lost":
            raise error(self.fault)
        return True

    async def over(self) -> None:
        """Waits until it has failed as often as planned."""
        async with asyncio.timeout(PATIENCE):
            await self._over.wait()


class FailingTx:
    """A transaction that fails where it is due to, and otherwise is the database's own."""

    def __init__(self, tx: Tx, failures: Failures) -> None:
        self._tx = tx
        self._failures = failures
        self.reply_lost = False

    async def all(self, query: Query, type: type[T], /, **params: Any) -> list[T]:
        self._meet(query)
        return await self._tx.all(query, type, **params)

    async def one(self, query: Query, type: type[T], /, **params: Any) -> T | None:
        self._meet(query)
        return await self._tx.one(query, type, **params)

    async def value(self, query: Query, /, **params: Any) -> Any | None:
        self._meet(query)
        return await self._tx.value(query, **params)

    async def run(self, query: Query, /, **params: Any) -> int:
        self._meet(query)
        return await self._tx.run(query, **params)

    def notify(self, channel: str, payload: str) -> None:
        self._tx.notify(channel, payload)

    def _meet(self, query: Query) -> None:
        self.reply_lost = self._failures.meet(query) or self.reply_lost


@contextlib.contextmanager
def failing(
    db: Backend, kind: Literal["read", "transaction"], query: Query, times: int = 1, fault: Fault = "busy"
) -> Generator[Failures]:
    """Makes the first `times` reads or transactions that run this query fail."""
    failures = Failures(query, times, fault)
    original: Callable[..., Awaitable[Any]] = getattr(db, kind)

    async def spoilt(work: Callable[[Tx], Awaitable[Any]], **options: Any) -> Any:
        last: FailingTx | None = None

        async def spoilt_work(tx: Tx) -> Any:
            nonlocal last
            last = FailingTx(tx, failures)
            return await work(last)

        result = await original(spoilt_work, **options)
        if last is not None and last.reply_lost:
            raise error("lost")
        return result

    setattr(db, kind, spoilt)
    try:
        yield failures
    finally:
        setattr(db, kind, original)
    assert failures.left == 0, "the query did not run that often"


def break_at(db: Backend, query: Query) -> asyncio.Event:
    """Makes the disk full for good, for writes and reads, from the first transaction that runs this query on. Returns
    an event that says so."""
    broken = asyncio.Event()
    failures = Failures(query, 1, "full")
    transaction: Callable[..., Awaitable[Any]] = db.transaction
    read: Callable[..., Awaitable[Any]] = db.read

    async def write(work: Callable[[Tx], Awaitable[Any]]) -> Any:
        if not failures.left:
            raise error("full")
        try:
            return await transaction(lambda tx: work(FailingTx(tx, failures)))
        finally:
            if not failures.left:
                broken.set()

    async def look(work: Callable[[Tx], Awaitable[Any]], **options: Any) -> Any:
        if not failures.left:
            raise error("full")
        return await read(work, **options)

    db.transaction = write
    db.read = look
    return broken


class Storm:
    """Faults at random transactions and reads; the seed decides which and how."""

    def __init__(self, seed: int, rate: float) -> None:
        self._random = random.Random(seed)
        self._rate = rate
        self.count = 0

    def next(self) -> Fault | None:
        if self._random.random() >= self._rate:
            return None
        self.count += 1
        return self._random.choice(list(ERRORS))


def storming(backend: type[Backend], storm: Storm) -> None:
    """Makes transactions and reads of this kind of database fail at random from now on."""
    original: Callable[[Any, Callable[[Tx], Awaitable[Any]]], Awaitable[Any]] = backend.transaction
    original_read: Callable[..., Awaitable[Any]] = backend.read

    async def transaction(self: Any, work: Callable[[Tx], Awaitable[Any]]) -> Any:
        fault = storm.next()
        if fault is not None and fault != "lost":
            raise error(fault)
        result = await original(self, work)
        if fault is not None:
            raise error(fault)
        return result

    async def read(self: Any, work: Callable[[Tx], Awaitable[Any]], **options: Any) -> Any:
        fault = storm.next()
        if fault is not None:
            raise error("io" if fault == "lost" else fault)
        return await original_read(self, work, **options)

    backend.transaction = transaction
    backend.read = read


def hold_answers(db: Backend, until: asyncio.Event) -> None:
    """Delays the replies to commits until the event is set."""
    original: Callable[..., Awaitable[Any]] = db.transaction

    async def held(work: Callable[[Tx], Awaitable[Any]]) -> Any:
        result = await original(work)
        await until.wait()
        return result

    db.transaction = held
