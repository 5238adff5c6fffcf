"""Runs the one thread that writes to a SQLite file: it groups queued work into shared commits."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

from bough.errors import BoughError, Internal, Unavailable
from bough.storage.backend import Listeners, Tx
from bough.storage.sqlite_tx import SqliteTx, drive, translate

T = TypeVar("T")

# Nobody in a group is answered before its commit, so a group must take only a few milliseconds.
GROUP_MAX = 100
# After this many changed rows the log is merged as soon as the writer is idle. SQLite would do it inside a commit,
# and the caller would wait for the disk.
FOLD_AFTER = 200
QUIET_SECONDS = 0.02


class _GroupLost(Exception):
    """Raised when SQLite itself has ended the group's transaction."""


def _lost() -> Unavailable:
    return Unavailable(
        "database_busy", "This change was rolled back because another change in the same commit failed. Try again."
    )


def _again(error: BoughError) -> BoughError:
    """Copies an error for another job, because an exception object holds the traceback of one."""
    return type(error)(error.code, error.message, **error.details)


class _Job:
    __slots__ = ("context", "error", "future", "notifications", "result", "work")

    def __init__(self, work: Callable[[Tx], Awaitable[Any]], future: asyncio.Future[Any]) -> None:
        self.work = work
        self.future = future
        self.context = contextvars.copy_context()
        self.result: Any = None
        self.error: BaseException | None = None
        self.notifications: Iterable[tuple[str, str]] = ()


class Writer:
    """Takes work from the event loop and answers after commit."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        listeners: Listeners,
        check: Callable[[], None],
        finish: Callable[[], None],
    ) -> None:
        """`check` raises before a commit that would not last. `finish` is called in the thread after the last work, to
        close what may take time to close."""
        self._connection = connection
        self._check = check
        # The error of the last group if none of it could be stored.
        self.trouble: BoughError | None = None
        self._listeners = listeners
        self._finish = finish
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed: asyncio.Future[None] | None = None
        self._folded = 0
        # A daemon, so that a program that forgets to close still ends; the file survives that like any crash.
        self._thread = threading.Thread(target=self._serve, name="bough-sqlite-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Callable[[Tx], Awaitable[T]]) -> T:
        if self._closed is not None:
            raise Unavailable("database_closed", "The database is closed.")
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(_Job(work, future))
        return await future

    async def close(self) -> None:
        """Finishes everything queued before, then ends the thread."""
        if self._closed is None:
            self._closed = self._loop.create_future()
            self._jobs.put(None)
        await asyncio.shield(self._closed)
        self._thread.join()

    def _serve(self) -> None:
        last = False
        while not last:
            group: list[_Job] = []
            job = self._next()
            while job is not None:
                group.append(job)
                if len(group) == GROUP_MAX or self._jobs.empty():
                    break
                job = self._jobs.get()
            last = job is None
            if group:
                self._run(group)
                self._tell(self._deliver, group)
        try:
            self._finish()
        finally:
            self._tell(self._end)

    def _next(self) -> _Job | None:
        """Returns the next job. Merges the log in the meantime if that is due."""
        if self._connection.total_changes - self._folded >= FOLD_AFTER:
            try:
                return self._jobs.get(timeout=QUIET_SECONDS)
            except queue.Empty:
                self._fold()
        return self._jobs.get()

    def _fold(self) -> None:
        self._folded = self._connection.total_changes
        # As far as no reader is in the way; the rest is for the next time.
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _run(self, group: list[_Job]) -> None:
        """Runs a group in one transaction: a failed work is rolled back alone, a failed commit fails all."""
        execute = self._connection.execute
        try:
            execute("BEGIN IMMEDIATE")
            if self.trouble is not None:
                self._touch()
            for job in group:
                if not job.future.cancelled():
                    self._run_one(job)
            self._check()
            execute("COMMIT")
            self.trouble = None
        except Exception as error:
            self._roll_back()
            if isinstance(error, BoughError):
                self.trouble = error
            elif isinstance(error, sqlite3.Error):
                self.trouble = translate(error)
            elif isinstance(error, _GroupLost):
                self.trouble = _lost()
            else:
                self.trouble = Internal("database_error", repr(error))
            for job in group:
                if job.error is None:
                    job.error = _again(self.trouble)
                    job.error.__cause__ = error

    def _touch(self) -> None:
        """Rewrites a page as it is: without a change, a commit succeeds on any disk and proves nothing."""
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        self._connection.execute(f"PRAGMA user_version = {version}")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            # A database that fails may fail here too; the next BEGIN says so again.
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _run_one(self, job: _Job) -> None:
        execute = self._connection.execute
        execute("SAVEPOINT work")
        tx = SqliteTx(self._connection)
        try:
            job.result = job.context.run(drive, job.work, tx)
            job.notifications = tx.notifications
        except BaseException as error:
            job.error = error
            if not self._connection.in_transaction:
                # Some failures, such as a full disk, make SQLite roll back the whole transaction.
                raise _GroupLost from error
            execute("ROLLBACK TO work")
        execute("RELEASE work")

    def _tell(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            # The loop was closed before the backend: the work is committed, and nobody is left to notify.
            return

    def _deliver(self, group: list[_Job]) -> None:
        for job in group:
            if job.error is None:
                for channel, payload in job.notifications:
                    self._listeners.deliver(channel, payload)
            if job.future.done():
                continue
            if job.error is None:
                job.future.set_result(job.result)
            else:
                job.future.set_exception(job.error)

    def _end(self) -> None:
        if self._closed is not None:
            self._closed.set_result(None)
