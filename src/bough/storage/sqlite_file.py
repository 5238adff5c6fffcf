"""Notices that a SQLite file was deleted, replaced, truncated or overwritten while the server uses it. SQLite itself
would continue writing into a file that nobody will find again."""

from __future__ import annotations

import os
from glob import escape
from pathlib import Path

from bough.errors import Unavailable

_MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 32


class DatabaseFile:
    """The file of an open database and its log, as they were when they were first seen."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log_path = path.with_name(f"{path.name}-wal")
        # Stays open as long as the database does: closing it earlier would drop SQLite's locks.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        about = os.fstat(self._descriptor)
        self._identity = about.st_dev, about.st_ino
        self._size = about.st_size
        self._log_identity: tuple[int, int] | None = None

    def check(self) -> None:
        """Raises `Unavailable` if the files are no longer the ones that SQLite writes to. Takes a few microseconds."""
        about = self._about(self._path)
        if about is None or (about.st_dev, about.st_ino) != self._identity:
            raise self._gone(self._path, "was deleted or replaced")
        header = self._header()
        if header[: len(_MAGIC)] not in (_MAGIC, b""):
            raise self._gone(self._path, "was overwritten")
        if about.st_size < self._size and about.st_size != _size_of(header):
            raise self._gone(self._path, "was truncated")
        self._size = about.st_size
        log = self._about(self._log_path)
        identity = (log.st_dev, log.st_ino) if log is not None else None
        if self._log_identity is None:
            self._log_identity = identity
        elif identity != self._log_identity:
            raise self._gone(self._log_path, "was deleted or replaced")

    def close(self) -> None:
        os.close(self._descriptor)

    def _header(self) -> bytes:
        try:
            return os.pread(self._descriptor, HEADER_BYTES, 0)
        except OSError as error:
            raise self._gone(self._path, f"cannot be read ({error.strerror})") from error

    def _about(self, path: Path) -> os.stat_result | None:
        try:
            return os.stat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._gone(path, f"cannot be read ({error.strerror})") from error

    def _gone(self, path: Path, trouble: str) -> Unavailable:
        return Unavailable(
            "database_damaged",
            f"The database file {path} {trouble}. Nothing is stored until the server is restarted with the file back "
            "in place, or with a restored backup.",
        )


def damage(path: Path, error: Exception) -> str:
    """Says that a file is no SQLite database, or a damaged one, and how to continue."""
    copies = sorted(path.parent.glob(f"{escape(path.name)}.*.bak"), key=lambda copy: copy.stat().st_mtime)
    copy = f"copy {copies[-1]} to its place" if copies else "put a backup in its place"
    return (
        f"{path} is not a SQLite database, or is damaged: {error}. Stop the server, move the file away together with "
        f"{path.name}-wal and {path.name}-shm, {copy}, and start again. Without a backup, `sqlite3 {path.name} "
        ".recover` prints what can be saved."
    )


def _size_of(header: bytes) -> int:
    """Returns the size of the file by its own header, which a VACUUM may have made smaller."""
    page = int.from_bytes(header[16:18], "big")
    return (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
