"""Implements the SQLite backend: one writer thread, reads on the event loop, threads for long reads, file locks."""

from __future__ import annotations

import asyncio
import contextvars
import fcntl
import os
import queue
import sqlite3
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from bough.errors import Busy, Internal, Invalid, Unavailable
from bough.storage.backend import Listeners, Tx
from bough.storage.sqlite_backup import copy, remove_partial_copies
from bough.storage.sqlite_file import DatabaseFile, damage
from bough.storage.sqlite_tx import SqliteTx, Synchronous, connect, drive, translate
from bough.storage.sqlite_writer import Writer

T = TypeVar("T")

# Long reads are searches and exports; two at a time leave a core for everything else.
LONG_READERS = 2


class SqliteBackend:
    """A `Backend` on one file. Notifications reach this process only, because one server owns the file."""

    dialect = "sqlite"

    def __init__(
        self, path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection, threads: ThreadPoolExecutor
    ) -> None:
        self.path = path
        self._write_connection = writer
        self._reader = reader
        self._threads = threads
        self._idle_readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        self._loop_thread = threading.get_ident()
        self._listeners = Listeners()
        self._file = DatabaseFile(path)
        self._writer = Writer(writer, self._listeners, self._file.check, self._close_all)
        self._closed = False

    @classmethod
    async def open(cls, path: Path, *, synchronous: Synchronous = "NORMAL") -> SqliteBackend:
        """Opens the file, creating it if needed; the folder must exist."""
        if not path.parent.is_dir():
            raise Invalid("database_path", f"The folder {path.parent} does not exist.")
        loop = asyncio.get_running_loop()
        threads = ThreadPoolExecutor(LONG_READERS, "bough-sqlite-reader")
        try:
            # In a thread, because reading a long log after a crash takes time.
            writer = await loop.run_in_executor(threads, lambda: connect(path, synchronous=synchronous))
            try:
                reader = connect(path, read_only=True)
            except BaseException:
                writer.close()
                raise
        except BaseException as error:
            threads.shutdown()
            if isinstance(error, sqlite3.Error):
                reason = translate(error)
                if reason.code == "database_damaged":
                    reason = Invalid("not_a_database", damage(path, error))
                raise reason from error
            raise
        return cls(path, writer, reader, threads)

    async def transaction(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        self._refuse_nesting()
        return await self._writer.submit(work)

    async def read(self, work: Callable[[Tx], Awaitable[T]], *, long: bool = False) -> T:
        self._refuse_nesting()
        if self._closed:
            raise Unavailable("database_closed", "The database is closed.")
        if not long:
            # A reader never waits for the writer, and a hop to a thread costs more than the query.
            return _snapshot(self._reader, work)
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: context.run(self._read_long, work)
        )

    async def check(self) -> None:
        self._refuse_nesting()
        self._file.check()
        if self._writer.trouble is not None:
            # Nothing was stored the last time; perhaps that is over.
            await self._writer.submit(_nothing)

    def state(self) -> int | None:
        """Returns SQLite's count of other connections' commits; the connection for short reads commits nothing
        itself."""
        self._refuse_nesting()
        if self._closed:
            raise Unavailable("database_closed", "The database is closed.")
        try:
            return self._reader.execute("PRAGMA data_version").fetchall()[0][0]
        except sqlite3.Error as error:
            raise translate(error) from error

    def listen(self, channel: str, callback: Callable[[str], None]) -> Callable[[], None]:
        return self._listeners.add(channel, callback)

    @asynccontextmanager
    async def own(self, name: str) -> AsyncGenerator[None]:
        """Locks a file next to the database. The kernel frees the lock when the process ends.

        The file stays, because removing it would let two processes lock two files of the same name."""
        path = self.path.with_name(f"{self.path.name}.own-{quote(name, safe='')}")
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip() or "unknown"
                raise Busy(
                    "database_in_use",
                    f"Process {holder} holds '{name}' of {self.path}. Stop that server, or choose another database.",
                    name=name,
                    holder=holder,
                ) from error
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            if name == "server":
                remove_partial_copies(self.path)
            yield
        finally:
            os.close(lock)

    async def keep_copy(self, label: str) -> Path | None:
        """Copies the file with SQLite's own backup, which is consistent even while others write."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, copy, self.path, label)

    def hurry(self) -> None:
        """Does nothing: a file answers at once, or not at all."""

    async def close(self) -> None:
        """Finishes queued work, then closes; the writer goes last and merges the log into the file."""
        if self._closed:
            return
        self._closed = True
        await self._writer.close()

    def _close_all(self) -> None:
        self._threads.shutdown()
        while not self._idle_readers.empty():
            self._idle_readers.get().close()
        self._reader.close()
        self._write_connection.close()
        self._file.close()

    def _refuse_nesting(self) -> None:
        if threading.get_ident() != self._loop_thread:
            raise Internal("foreign_await", "`work` called the backend; it may only use its own Tx.")

    def _read_long(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        try:
            connection = self._idle_readers.get_nowait()
        except queue.Empty:
            try:
                connection = connect(self.path, read_only=True)
            except sqlite3.Error as error:
                raise translate(error) from error
        try:
            return _snapshot(connection, work)
        finally:
            self._idle_readers.put(connection)


async def _nothing(_tx: Tx) -> None:
    """Changes nothing, but has a transaction begin and commit."""


def _roll_back(connection: sqlite3.Connection) -> None:
    """Ends a read that failed. SQLite ends some by itself, and no other error may hide why it failed."""
    if connection.in_transaction:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _snapshot(connection: sqlite3.Connection, work: Callable[[Tx], Awaitable[T]]) -> T:
    """Runs `work` on one view of the database; BEGIN and COMMIT cost under 2 µs together."""
    if connection.in_transaction:
        raise Internal("foreign_await", "`work` called the backend; it may only use its own Tx.")
    try:
        connection.execute("BEGIN")
        try:
            result = drive(work, SqliteTx(connection, reading=True))
        except BaseException:
            _roll_back(connection)
            raise
        try:
            connection.execute("COMMIT")
        except BaseException:
            _roll_back(connection)
            raise
        return result
    except sqlite3.Error as error:
        raise translate(error) from error
