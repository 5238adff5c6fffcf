"""Tests SQLite on a failing disk, and with a database file that somebody deletes, replaces or overwrites."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from bough.errors import Unavailable
from bough.storage import migrate, queries
from bough.storage.open import open_backend
from bough.storage.sqlite import SqliteBackend

FOLDER = Path(__file__).with_name("migrations")
Q = queries.load("boxes", Path(__file__).with_name("sql"))


class FailingConnection:
    """A connection on which statements that start with a given word fail with a disk error."""

    def __init__(self, connection: sqlite3.Connection, word: str, name: str) -> None:
        self._connection = connection
        self._word = word
        self._name = name

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql.startswith(self._word):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = self._name
            raise error
        return self._connection.execute(sql, *parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.fixture
async def boxes(tmp_path: Path) -> AsyncGenerator[SqliteBackend]:
    backend = await open_backend(str(tmp_path / "bough.db"))
    assert isinstance(backend, SqliteBackend)
    await migrate.upgrade(backend, folder=FOLDER)
    yield backend
    await backend.close()


async def add(backend: SqliteBackend, id: str) -> None:
    await backend.transaction(lambda tx: tx.run(Q.add, id=id, label=id))


def delete(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").rename(path)


def truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(512)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * 4096)


def delete_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


@pytest.mark.parametrize("harm", [delete, replace, truncate, overwrite, delete_log])
async def test_a_damaged_file_is_noticed(boxes: SqliteBackend, tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """Q4: Nothing is acknowledged that could not be found again, and the check says why."""
    await add(boxes, "b1")
    await boxes.check()
    harm(tmp_path / "bough.db")
    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            await add(boxes, "b2")
        assert caught.value.code == "database_damaged"
        with pytest.raises(Unavailable, match="bough"):
            await boxes.check()


@pytest.mark.parametrize("word", ["BEGIN", "COMMIT", "INSERT"])
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("SQLITE_IOERR_WRITE", "database_unavailable"),
        ("SQLITE_READONLY_DBMOVED", "database_unavailable"),
        ("SQLITE_CANTOPEN", "database_unavailable"),
        ("SQLITE_FULL", "disk_full"),
        ("SQLITE_CORRUPT", "database_damaged"),
    ],
)
async def test_a_failing_disk_is_unavailable(boxes: SqliteBackend, word: str, name: str, code: str) -> None:
    """Q4: A disk error counts as temporary, so that writes are retried."""
    writer: Any = boxes._writer  # pyright: ignore[reportPrivateUsage]
    working = writer._connection
    writer._connection = FailingConnection(working, word, name)
    with pytest.raises(Unavailable) as caught:
        await add(boxes, "b1")
    assert caught.value.code == code
    if word != "INSERT":
        with pytest.raises(Unavailable):
            await boxes.check()
    writer._connection = working
    await boxes.check()
    await add(boxes, "b1")
    assert await boxes.read(lambda tx: tx.value(Q.count)) == 1


class FailingReader(FailingConnection):
    """A connection whose failed statement ends its transaction, as SQLite does after an error of the disk."""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        try:
            return super().execute(sql, *parameters)
        except sqlite3.OperationalError:
            if self._word == "SELECT":
                self._connection.execute("ROLLBACK")
            raise


@pytest.mark.parametrize("word", ["BEGIN", "COMMIT", "SELECT"])
async def test_a_read_from_a_failing_disk_is_unavailable(boxes: SqliteBackend, word: str) -> None:
    """Q4: A read that failed can be repeated, and the next one is not refused because of it."""
    private: Any = boxes
    working = private._reader
    private._reader = FailingReader(working, word, "SQLITE_IOERR_READ")
    for _ in range(2):
        with pytest.raises(Unavailable) as caught:
            await boxes.read(lambda tx: tx.value(Q.count))
        assert caught.value.code == "database_unavailable"
    private._reader = working
    assert await boxes.read(lambda tx: tx.value(Q.count)) == 0


async def test_a_long_read_that_cannot_open_the_file(boxes: SqliteBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Q4: A lack of descriptors counts as temporary."""

    def refuse(*_: Any, **__: Any) -> Any:
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorname = "SQLITE_CANTOPEN"
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("bough.storage.sqlite.connect", refuse)
        with pytest.raises(Unavailable):
            await boxes.read(lambda tx: tx.value(Q.count), long=True)
    assert await boxes.read(lambda tx: tx.value(Q.count), long=True) == 0
