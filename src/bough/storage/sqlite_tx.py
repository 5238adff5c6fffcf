"""Runs queries on one SQLite connection: its settings, driving a work without suspending, translating errors."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, TypeVar, cast
from urllib.parse import quote

from bough.errors import BoughError, Conflict, Internal, Invalid, Unavailable
from bough.storage.backend import Tx, TxState
from bough.storage.queries import Query, Statement
from bough.storage.sqlite_file import damage

T = TypeVar("T")
Synchronous = Literal["NORMAL", "FULL"]

# Another process (a backup tool, `bough db`) may hold the file for a moment; longer is an error.
BUSY_TIMEOUT_SECONDS = 5.0
# All of Bough's statements fit, so each is prepared once per connection.
STATEMENTS_KEPT = 512
# Page cache per connection. No mmap: its pages count as ours, and memory would grow with the file.
CACHE_KIB = 4_096
PAGE_BYTES = 4_096
# A burst may grow the log; the next checkpoint shrinks it to this.
WAL_KEPT_BYTES = 16 * 1024 * 1024

_KINDS = {
    "SQLITE_CONSTRAINT_UNIQUE": "unique",
    "SQLITE_CONSTRAINT_PRIMARYKEY": "unique",
    "SQLITE_CONSTRAINT_FOREIGNKEY": "foreign_key",
    "SQLITE_CONSTRAINT_CHECK": "check",
    "SQLITE_CONSTRAINT_NOTNULL": "not_null",
}
# The file system fails, or the file may no longer be written.
_FAILING = (
    "SQLITE_IOERR",
    "SQLITE_READONLY",
    "SQLITE_CANTOPEN",
    "SQLITE_PERM",
    "SQLITE_NOMEM",
    "SQLITE_PROTOCOL",
    "SQLITE_NOLFS",
)


class FileConnection(sqlite3.Connection):
    """A connection that knows its file, for messages about it."""

    path: Path


def connect(path: Path, *, synchronous: Synchronous = "NORMAL", read_only: bool = False) -> sqlite3.Connection:
    """Opens the file with our settings. A new file is readable by its owner only, because it holds tokens."""
    if not read_only:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={'ro' if read_only else 'rw'}",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=STATEMENTS_KEPT,
        factory=FileConnection,
    )
    connection.path = path
    try:
        _configure(connection, path, synchronous, read_only)
    except BaseException:
        connection.close()
        raise
    return connection


def _configure(connection: sqlite3.Connection, path: Path, synchronous: Synchronous, read_only: bool) -> None:
    if read_only:
        connection.execute("PRAGMA query_only = ON")
    else:
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise Invalid(
                "database_path", f"{path} is on a file system without shared memory; SQLite needs it for WAL."
            )
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT_BYTES}")
        # The writer checkpoints when idle; SQLite does it by itself only if the writer never is.
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_KEPT_BYTES // PAGE_BYTES}")
        connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    # As in PostgreSQL; only then can `id LIKE '019a3af2%'` use an index.
    connection.execute("PRAGMA case_sensitive_like = ON")


def drive(work: Callable[[Tx], Awaitable[T]], tx: SqliteTx) -> T:
    """Runs `work` to its end in this thread. Awaits on `tx` never suspend, and any other await is refused."""
    steps = work(tx).__await__()
    try:
        awaited = next(steps)
    except StopIteration as done:
        tx.refuse_if_failed()
        return done.value
    except RuntimeError as error:
        if "no running event loop" in str(error):
            raise _foreign_await() from error
        raise
    cast("Any", steps).close()
    if hasattr(awaited, "_asyncio_future_blocking"):
        # asyncio marks a future as awaited; left that way, the next await would fail.
        awaited._asyncio_future_blocking = False
    raise _foreign_await()


def _foreign_await() -> Internal:
    return Internal(
        "foreign_await", "`work` awaited something other than its Tx; await that before or after the transaction."
    )


def translate(error: sqlite3.Error, *, reading: bool = False, path: Path | None = None) -> BoughError:
    """Translates an error of SQLite. `reading`: on a connection that is not meant to write. `path`: of its file."""
    name: str = getattr(error, "sqlite_errorname", "")
    if reading and name == "SQLITE_READONLY":
        return Internal("read_writes", "A read tried to write.")
    if name.startswith("SQLITE_CONSTRAINT"):
        return Conflict(f"constraint_{_KINDS.get(name, 'other')}", str(error))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return Unavailable("database_busy", f"The database is held by another process: {error}.")
    if name.startswith("SQLITE_FULL"):
        return Unavailable("disk_full", "The disk of the database is full. Free some space on it.")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return Unavailable("database_damaged", damage(path, error) if path else f"The database is damaged: {error}.")
    if name.startswith(_FAILING):
        return Unavailable("database_unavailable", f"The database cannot be read or written: {error} ({name}).")
    return Internal("database_error", f"{name or 'sqlite3'}: {error}")


class SqliteTx(TxState):
    """A `Tx` on a connection whose transaction others begin and end."""

    __slots__ = ("_connection", "_reading")

    def __init__(self, connection: sqlite3.Connection, *, reading: bool = False) -> None:
        super().__init__()
        self._connection = connection
        self._reading = reading

    async def all(self, query: Query, type: type[T], /, **params: Any) -> list[T]:
        statement, cursor, rows = self._execute(query, params)
        return statement.mapper(type, lambda: _columns(cursor))(rows)

    async def one(self, query: Query, type: type[T], /, **params: Any) -> T | None:
        statement, cursor, rows = self._execute(query, params)
        mapped = statement.mapper(type, lambda: _columns(cursor))(rows[:1])
        return mapped[0] if mapped else None

    async def value(self, query: Query, /, **params: Any) -> Any | None:
        rows = self._execute(query, params)[2]
        return rows[0][0] if rows else None

    async def run(self, query: Query, /, **params: Any) -> int:
        return max(self._execute(query, params)[1].rowcount, 0)

    def _execute(self, query: Query, params: dict[str, Any]) -> tuple[Statement, sqlite3.Cursor, list[Any]]:
        self.refuse_if_failed()
        statement, values = query.bind("sqlite", params)
        try:
            cursor = self._connection.execute(statement.sql, values)
            return statement, cursor, cursor.fetchall()
        except sqlite3.Error as error:
            path = self._connection.path if isinstance(self._connection, FileConnection) else None
            self.failure = translate(error, reading=self._reading, path=path)
            raise self.failure from error


def _columns(cursor: sqlite3.Cursor) -> list[str]:
    return [column[0] for column in cursor.description or ()]
