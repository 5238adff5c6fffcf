"""Owns files of records that are only appended to, one JSON object a line, and the folder of sessions kept in them.
It leaves what the records are, and what follows from them, to the agent; it keeps no lock: every append is one write.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

R = TypeVar("R", bound=msgspec.Struct)
F = TypeVar("F")

PAGE = 50
_SUFFIX = ".jsonl"
_encode = msgspec.json.Encoder().encode


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class RecordFile(Generic[R]):
    """One file, which several processes may append to and read."""

    def __init__(self, path: Path, decode: Callable[[bytes], R]) -> None:
        self._path = path
        self._decode = decode
        self._offset = 0

    def append(self, record: R) -> None:
        """Writes a record; it survives the death of this process from here on."""
        line = _encode(record) + b"\n"
        fd = os.open(self._path, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(fd).st_size
            # Whoever died in the middle of a line left it open; ours must not become a part of it.
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line
            while line:
                line = line[os.write(fd, line) :]
        finally:
            os.close(fd)

    def records(self) -> list[R]:
        """Returns every whole record, from the first."""
        return self._parse(self._path.read_bytes())

    def unread(self) -> list[R]:
        """Returns what was appended since the last call, by this process or another."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        # A line without an end may still be being written: it is read again next time.
        data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        return self._parse(data)

    def _parse(self, data: bytes) -> list[R]:
        records: list[R] = []
        for line in data.split(b"\n"):
            try:
                records.append(self._decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue  # Half a line, left by a writer that was killed, or the nothing after the last line.
        return records


class Shelf:
    """The folder of all sessions of an agent, whose ids begin with its prefix. Nobody else can read the files."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self.folder = folder
        self._prefix = prefix
        self._id = re.compile(re.escape(prefix) + "-[0-9a-f]{32}")

    def new_id(self) -> str:
        return f"{self._prefix}-{os.urandom(16).hex()}"

    def path(self, session_id: str) -> Path | None:
        # An id comes from the client: it must never name a file elsewhere.
        return self.folder / (session_id + _SUFFIX) if self._id.fullmatch(session_id) else None

    def existing(self, session_id: str) -> Path | None:
        path = self.path(session_id)
        return path if path is not None and path.is_file() else None

    def delete(self, session_id: str) -> None:
        path = self.path(session_id)
        if path is not None:
            path.unlink(missing_ok=True)

    def write(self, session_id: str, records: Iterable[msgspec.Struct]) -> Path:
        """Makes a session's file with these records in it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Under another name until it is whole, so that nobody lists half a fork.
        part = self.folder / (session_id + ".part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(_encode(record) + b"\n" for record in records)
        path = self.folder / (session_id + _SUFFIX)
        part.rename(path)
        return path

    def page(self, cursor: str | None, find: Callable[[str], F | None]) -> tuple[list[tuple[F, float]], str | None]:
        """Returns what `find` gives for the ids and when each last changed, latest first, and the next cursor."""
        before = self._read_cursor(cursor)
        found: list[tuple[int, str, F]] = []
        for stamp, session_id in self._stamps():
            if before is not None and (stamp, session_id) >= before:
                continue
            file = find(session_id)
            if file is not None:
                found.append((stamp, session_id, file))
            if len(found) > PAGE:
                break
        page = [(file, stamp / 1e9) for stamp, _, file in found[:PAGE]]
        following = f"{found[PAGE - 1][0]}:{found[PAGE - 1][1]}" if len(found) > PAGE else None
        return page, following

    def _stamps(self) -> list[tuple[int, str]]:
        try:
            entries = list(os.scandir(self.folder))
        except FileNotFoundError:
            return []
        stamps: list[tuple[int, str]] = []
        for entry in entries:
            session_id = entry.name.removesuffix(_SUFFIX)
            if session_id == entry.name or not self._id.fullmatch(session_id):
                continue
            try:
                stamps.append((entry.stat().st_mtime_ns, session_id))
            except FileNotFoundError:
                continue  # Deleted by another process since the scan.
        return sorted(stamps, reverse=True)

    def _read_cursor(self, cursor: str | None) -> tuple[int, str] | None:
        if cursor is None:
            return None
        stamp, _, session_id = cursor.partition(":")
        if not stamp.isdecimal() or not self._id.fullmatch(session_id):
            raise ValueError(f"{cursor!r} is no cursor of this agent")
        return int(stamp), session_id
