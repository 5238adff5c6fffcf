"""Measures one small write: a transaction through Bough's backend against the same statement on a bare connection in a
thread, one after the other and many at once."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.support import measure
from bench.support.report import Result, slower
from bough.core.store.sql import EVENTS
from bough.storage import migrate
from bough.storage.backend import Backend, Tx
from bough.storage.open import open_backend
from bough.storage.queries import in_bulk
from bough.storage.sqlite_tx import connect

ROUNDS = 15
CALLS = 200
AT_ONCE = 64


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1) as thread:
        ours = await _made(Path(name) / "ours.db")
        floor = await _made(Path(name) / "floor.db")
        await floor.close()
        bare = connect(Path(name) / "floor.db")
        try:
            bare_write, our_write = _Bare(bare, thread).write, _Ours(ours).write
            one_by_one = await measure.alternate(
                ROUNDS, measure.per_await(CALLS, bare_write), measure.per_await(CALLS, our_write)
            )

            def many(write: Any) -> Any:
                async def burst() -> None:
                    await asyncio.gather(*(write() for _ in range(AT_ONCE)))

                async def measured() -> float:
                    return await measure.per_await(CALLS // AT_ONCE + 1, burst)() / AT_ONCE

                return measured

            at_once = await measure.alternate(ROUNDS, many(bare_write), many(our_write))
        finally:
            bare.close()
            await ours.close()
    rows = [
        slower("transaction, one after the other", one_by_one),
        slower(f"transaction, {AT_ONCE} at once", at_once),
    ]
    return Result(title="storage", about=_ABOUT, rows=rows)


_ABOUT = """\
- **Ours:** a transaction that inserts one event. Simultaneous transactions share one commit.
- **Floor:** BEGIN IMMEDIATE, INSERT, COMMIT on a connection with the same settings, each handed to one thread."""


async def _made(path: Path) -> Backend:
    db = await open_backend(str(path))
    await migrate.upgrade(db)
    return db


def _event(number: int) -> dict[str, Any]:
    return {
        "cursor": number,
        "type": "session.patched",
        "session_id": "019a3af2-0000-7000-8000-000000000000",
        "object_id": "019a3af2-0000-7000-8000-000000000000",
        "data": b'{"title":"A title"}',
        "created_at": "2026-01-01T00:00:00.000000Z",
    }


class _Ours:
    def __init__(self, db: Backend) -> None:
        self._db = db
        self._numbers = itertools.count(1)

    async def write(self) -> None:
        event = _event(next(self._numbers))

        async def work(tx: Tx) -> None:
            for query, params in in_bulk(EVENTS.add_all, [event]):
                await tx.run(query, **params)

        await self._db.transaction(work)


class _Bare:
    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread
        self._numbers = itertools.count(1)
        [(query, params)] = in_bulk(EVENTS.add_all, [_event(0)])
        self._sql = query.bind("sqlite", params)[0].sql

    async def write(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._insert, _event(next(self._numbers)))

    def _insert(self, event: dict[str, Any]) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        execute(self._sql, list(event.values()))
        execute("COMMIT")
