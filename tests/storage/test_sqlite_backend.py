"""R6, L1: Tests what only SQLite has: the writer's groups, the file, the threads."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sqlite3
import stat
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bough.errors import Busy, Conflict, Internal, Invalid, Unavailable
from bough.storage import migrate, queries, sqlite_tx
from bough.storage.backend import Backend, Tx
from bough.storage.open import open_backend
from bough.storage.queries import Query
from bough.storage.sqlite_writer import FOLD_AFTER
from tests.support.eventually import eventually

FOLDER = Path(__file__).with_name("migrations")
Q = queries.load("boxes", Path(__file__).with_name("sql"))


@pytest.fixture
async def boxes(tmp_path: Path) -> AsyncGenerator[Backend]:
    backend = await open_backend(str(tmp_path / "bough.db"))
    await migrate.upgrade(backend, to=1, folder=FOLDER)
    yield backend
    await backend.close()


async def test_checkpointing_the_log_hides_no_commit(tmp_path: Path) -> None:
    """A1: The state changes with every commit, even after the log was checkpointed into the file and truncated."""
    path = tmp_path / "bough.db"
    backend = await open_backend(str(path))
    await migrate.upgrade(backend, to=1, folder=FOLDER)
    seen = [backend.state()]
    for number in range(5):
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = backend.state()
        await backend.transaction(lambda tx, id=f"box-{number}": tx.run(Q.add, id=id, label=id))
        seen.append(backend.state())
        assert seen[-1] not in (None, before)
    await backend.close()
    assert len(set(seen)) == len(seen)


async def test_a_closed_database_has_no_state(tmp_path: Path) -> None:
    """R6: Every call on a closed backend reports that it is closed."""
    backend = await open_backend(str(tmp_path / "closed.db"))
    await backend.close()
    with pytest.raises(Busy) as caught:
        backend.state()
    assert caught.value.code == "database_closed"


async def as_one_group(backend: Backend, works: list[Callable[[Tx], Awaitable[Any]]]) -> list[Any]:
    """Queues transactions while the writer is held, so that they become one group."""
    loop = asyncio.get_running_loop()
    begun, go = asyncio.Event(), threading.Event()

    async def hold(tx: Tx) -> None:
        loop.call_soon_threadsafe(begun.set)
        go.wait(10)

    holding = asyncio.create_task(backend.transaction(hold))
    await begun.wait()
    waiting = [asyncio.ensure_future(backend.transaction(work)) for work in works]
    await asyncio.sleep(0)
    go.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    await holding
    return results


async def test_waiting_transactions_share_a_commit(boxes: Backend, tmp_path: Path) -> None:
    """R6: Waiting transactions share a commit, and none of them returns before it."""
    outside = sqlite3.connect(tmp_path / "bough.db", check_same_thread=False)

    async def work(tx: Tx, number: int) -> tuple[object, object]:
        await tx.run(Q.add, id=str(number), label=str(number))
        return await tx.value(Q.count), outside.execute("SELECT COUNT(*) FROM boxes").fetchone()[0]

    results = await as_one_group(boxes, [lambda tx, n=number: work(tx, n) for number in range(5)])
    assert results == [(1, 0), (2, 0), (3, 0), (4, 0), (5, 0)]
    outside.close()


async def test_a_commit_that_fails_fails_its_group(boxes: Backend) -> None:
    """Q4: No caller is told that something was stored if it was not."""
    create = "CREATE TABLE late (id TEXT REFERENCES boxes (id) DEFERRABLE INITIALLY DEFERRED)"
    await boxes.transaction(lambda tx: tx.run(Query("create", create, "A key that is looked at on commit.")))
    bad = Query("bad", "INSERT INTO late VALUES ('nowhere')", "A row that cannot be committed.")
    results = await as_one_group(boxes, [lambda tx: tx.run(Q.add, id="b1", label="one"), lambda tx: tx.run(bad)])
    assert [type(result) for result in results] == [Conflict, Conflict]
    assert await boxes.read(lambda tx: tx.value(Q.count)) == 0


async def test_a_transaction_that_sqlite_ends_fails_its_group(boxes: Backend) -> None:
    """Q4: After SQLite rolled back by itself, as on a full disk, the whole group fails."""
    bad = Query("bad", "INSERT OR ROLLBACK INTO boxes (id, label) VALUES ('b1', 'again')", "Undoes everything.")
    results = await as_one_group(
        boxes,
        [
            lambda tx: tx.run(Q.add, id="b1", label="one"),
            lambda tx: tx.run(bad),
            lambda tx: tx.run(Q.add, id="b2", label="two"),
        ],
    )
    assert [type(result) for result in results] == [Unavailable, Conflict, Unavailable]
    assert await boxes.read(lambda tx: tx.value(Q.count)) == 0
    await boxes.transaction(lambda tx: tx.run(Q.add, id="b3", label="three"))


async def test_awaiting_something_else_is_refused(boxes: Backend) -> None:
    """R6: A transaction that would hold the writer while it awaits something else is refused and leaves nothing."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    foreign: list[Callable[[], Awaitable[Any]]] = [
        lambda: asyncio.sleep(0),
        lambda: asyncio.sleep(0.001),
        lambda: future,
        lambda: boxes.read(lambda tx: tx.value(Q.count)),
        lambda: boxes.transaction(lambda tx: tx.value(Q.count)),
    ]
    for call in foreign:

        async def write(tx: Tx, call: Callable[[], Awaitable[Any]] = call) -> None:
            await tx.run(Q.add, id="b1", label="one")
            await call()

        async def read(tx: Tx, call: Callable[[], Awaitable[Any]] = call) -> None:
            await tx.value(Q.count)
            await call()

        with pytest.raises(Internal) as writing:
            await boxes.transaction(write)
        with pytest.raises(Internal) as reading:
            await boxes.read(read)
        with pytest.raises(Internal) as reading_long:
            await boxes.read(read, long=True)
        assert {caught.value.code for caught in (writing, reading, reading_long)} == {"foreign_await"}
    assert await boxes.read(lambda tx: tx.value(Q.count)) == 0


async def test_a_transaction_sees_the_context_of_its_caller(boxes: Backend) -> None:
    """A4: An error's id and a log's fields reach into the writer."""
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")

    async def work(tx: Tx) -> str:
        return name.get()

    name.set("somebody")
    assert await boxes.transaction(work) == "somebody"
    assert await boxes.read(work, long=True) == "somebody"


def modes(folder: Path, pattern: str = "*") -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.glob(pattern)}


async def test_an_older_file_is_copied_before_an_upgrade(boxes: Backend, tmp_path: Path) -> None:
    """R6: Start-up copies an older file before it upgrades it."""
    assert modes(tmp_path, "*.bak") == {}
    await boxes.transaction(lambda tx: tx.run(Q.add, id="b1", label="one"))
    await migrate.upgrade(boxes, folder=FOLDER)
    ((copy, mode),) = modes(tmp_path, "bough.db.v1-*.bak").items()
    assert mode == 0o600
    old = await open_backend(f"{tmp_path}/{copy}")
    assert (await migrate.status(old, FOLDER)).version == 1
    assert await old.read(lambda tx: tx.value(Q.count)) == 1
    await old.close()
    await migrate.downgrade(boxes, 0, folder=FOLDER)
    assert len(modes(tmp_path, "bough.db.v2-*.bak")) == 1
    assert modes(tmp_path, "*.part*") == {}


async def test_the_file_is_for_its_owner_alone_and_close_leaves_one_file(tmp_path: Path) -> None:
    """L1: Only the owner can read the file, because it holds tokens; a clean stop leaves no log and no thread
    behind."""
    before = set(threading.enumerate())
    backend = await open_backend(f"sqlite://{tmp_path}/with%20space.db")
    await migrate.upgrade(backend, folder=FOLDER)
    await asyncio.gather(*(backend.read(lambda tx: tx.value(Q.count), long=True) for _ in range(4)))
    last = asyncio.create_task(backend.transaction(lambda tx: tx.run(Q.add, id="b1", label="one")))
    await asyncio.sleep(0)
    assert set(modes(tmp_path).values()) == {0o600}
    await backend.close()
    assert await last == 1
    assert set(threading.enumerate()) == before
    assert modes(tmp_path).keys() == {"with space.db", "with space.db.own-migrations"}


async def test_a_file_held_by_another_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R6: Waiting for another process ends with an error that says so."""
    monkeypatch.setattr(sqlite_tx, "BUSY_TIMEOUT_SECONDS", 0.02)
    backend = await open_backend(str(tmp_path / "bough.db"))
    await migrate.upgrade(backend, folder=FOLDER)
    other = sqlite3.connect(tmp_path / "bough.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy) as caught:
        await backend.transaction(lambda tx: tx.run(Q.add, id="b1", label="one"))
    assert caught.value.code == "database_busy"
    assert await backend.read(lambda tx: tx.value(Q.count)) == 0
    other.execute("COMMIT")
    other.close()
    await backend.transaction(lambda tx: tx.run(Q.add, id="b1", label="one"))
    await backend.close()


@pytest.mark.parametrize(("synchronous", "level"), [("NORMAL", 1), ("FULL", 2)])
async def test_durability_can_be_chosen(tmp_path: Path, synchronous: Any, level: int) -> None:
    """R6: NORMAL by default; foreign keys are on either way."""
    backend = await open_backend(str(tmp_path / "bough.db"), synchronous=synchronous)
    for pragma, value in (("synchronous", level), ("foreign_keys", 1), ("journal_mode", "wal")):
        query = Query("pragma", f"PRAGMA {pragma}", "One setting of the writer.")
        assert await backend.transaction(lambda tx, query=query: tx.value(query)) == value
    await backend.close()


@pytest.mark.parametrize(
    ("url", "code"),
    [("missing/bough.db", "database_path"), ("junk.db", "not_a_database"), ("mysql://x/y", "database_url")],
)
async def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path, url: str, code: str) -> None:
    """L1: A wrong setting is a clear error."""
    (tmp_path / "junk.db").write_bytes(b"not a database, whatever its name says" * 100)
    with pytest.raises(Invalid) as caught:
        await open_backend(url if "://" in url else str(tmp_path / url))
    assert caught.value.code == code


async def test_the_log_is_checkpointed_when_idle(boxes: Backend, tmp_path: Path) -> None:
    """R6: After many changes the log is checkpointed into the file without delaying a commit."""

    async def fill(tx: Tx) -> None:
        for number in range(FOLD_AFTER):
            await tx.run(Q.add, id=str(number), label=str(number))

    def in_the_file() -> bool:
        # Read without the log beside it.
        alone = sqlite3.connect(f"file:{tmp_path / 'bough.db'}?immutable=1", uri=True)
        try:
            tables = alone.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'boxes'").fetchone()[0]
            return tables == 1 and alone.execute("SELECT COUNT(*) FROM boxes").fetchone()[0] == FOLD_AFTER
        finally:
            alone.close()

    await boxes.transaction(fill)
    assert not in_the_file()
    await eventually(in_the_file)


async def test_partial_copies_are_removed(tmp_path: Path) -> None:
    """R6: A server that starts removes the copies that a killed process left incomplete, and nothing else."""
    parts = ("bough.db.v3-20260101T000000.part", "bough.db.v3-20260101T000000.part-wal")
    others = ("bough.db.v2-20260101T000000.bak", "notes.part")
    for name in (*parts, *others):
        (tmp_path / name).write_text("")
    backend = await open_backend(str(tmp_path / "bough.db"))
    try:
        async with backend.own("server"):
            assert not any((tmp_path / name).exists() for name in parts)
            assert all((tmp_path / name).exists() for name in others)
    finally:
        await backend.close()
