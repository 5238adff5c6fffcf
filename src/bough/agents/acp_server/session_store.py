"""Stores sessions as append-only files, one per session in one folder, and derives their state from the records.

Several processes may use a file at once. There is no lock: every append is a single write.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from bough.agents.acp_server.records import (
    PromptRecord,
    Record,
    SessionRecord,
    SettingRecord,
    decode_record,
    encode_record,
)

PAGE = 50
_SUFFIX = ".jsonl"


def now() -> str:
    """Returns the current time as records carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class RecordedSession:
    """The result of applying a session's records in order. Agents add their own fields."""

    def __init__(self) -> None:
        # The session's folder, as the client last set it.
        self.folder = ""
        self.mode = "default"
        self.turns = 0

    def apply(self, record: Record) -> None:
        """Applies the next record."""
        match record:
            case SessionRecord():
                self.folder = record.cwd
            case SettingRecord():
                self.folder = record.cwd or self.folder
                self.mode = record.mode or self.mode
            case PromptRecord():
                self.turns += 1
            case _:
                pass


State = TypeVar("State", bound=RecordedSession)


class SessionFile(Generic[State]):
    """One session's file, and the state that follows from it."""

    def __init__(self, session_id: str, path: Path, state: State) -> None:
        self.id = session_id
        self._path = path
        self._state = state
        self._offset = 0

    def append(self, record: Record) -> None:
        """Writes a record. From here on it survives the death of this process."""
        line = encode_record(record) + b"\n"
        fd = os.open(self._path, os.O_RDWR | os.O_APPEND)
        try:
            size = os.fstat(fd).st_size
            # A writer that died in the middle of a line left it open; this record must not become part of it.
            if size and os.pread(fd, 1, size - 1) != b"\n":
                line = b"\n" + line
            while line:
                line = line[os.write(fd, line) :]
        finally:
            os.close(fd)

    def records(self) -> list[Record]:
        """Returns every whole record, from the first."""
        return _parse(self._path.read_bytes())

    def state(self) -> State:
        """Applies the records that any process has appended since the last call, and returns the state."""
        for record in self._unread():
            self._state.apply(record)
        return self._state

    def path_beside(self, name: str) -> str:
        """Returns the absolute path of another file in the same folder."""
        return str(self._path.parent.absolute() / name)

    def _unread(self) -> list[Record]:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        # A line without a newline may still be in the making: it is read again next time.
        data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        return _parse(data)


class SessionStore(Generic[State]):
    """The folder of an agent's session files, which only its owner can read. Session ids begin with the prefix."""

    def __init__(self, folder: Path, prefix: str, new_state: Callable[[], State]) -> None:
        self._folder = folder
        self._prefix = prefix
        self._new_state = new_state
        self._id = re.compile(re.escape(prefix) + "-[0-9a-f]{32}")

    def create(self, cwd: str) -> SessionFile[State]:
        """Creates a session in a folder."""
        return self._write(SessionRecord(at=now(), id=self._new_id(), cwd=cwd), [])

    def fork(self, parent: SessionFile[State], cwd: str) -> SessionFile[State]:
        """Copies the records so far to a new session in another folder."""
        header, *records = parent.records()
        assert isinstance(header, SessionRecord)
        # The copy starts in the parent's folder and moves with its last record, as a session does that is reopened
        # elsewhere, so that a terminal's shell moves along.
        first = SessionRecord(at=now(), id=self._new_id(), cwd=header.cwd, forked_from=parent.id)
        return self._write(first, [*records, SettingRecord(at=now(), cwd=cwd)])

    def find(self, session_id: str) -> SessionFile[State] | None:
        """Returns a session, or None if there is no such session."""
        path = self._path(session_id)
        return SessionFile(session_id, path, self._new_state()) if path is not None and path.is_file() else None

    def delete(self, session_id: str) -> None:
        """Deletes a session's file, if it exists."""
        path = self._path(session_id)
        if path is not None:
            path.unlink(missing_ok=True)

    def page(self, cwd: str | None, cursor: str | None) -> tuple[list[tuple[SessionFile[State], float]], str | None]:
        """Returns sessions with the times of their last change, latest first, and the cursor of the next page."""
        before = self._read_cursor(cursor)
        matches: list[tuple[int, SessionFile[State]]] = []
        for changed_ns, session_id in self._ids_by_change():
            if before is not None and (changed_ns, session_id) >= before:
                continue
            file = self.find(session_id)
            if file is not None and (cwd is None or file.state().folder == cwd):
                matches.append((changed_ns, file))
            if len(matches) > PAGE:
                break
        page = [(file, changed_ns / 1e9) for changed_ns, file in matches[:PAGE]]
        next_cursor = None
        if len(matches) > PAGE:
            changed_ns, file = matches[PAGE - 1]
            next_cursor = f"{changed_ns}:{file.id}"
        return page, next_cursor

    def _new_id(self) -> str:
        return f"{self._prefix}-{os.urandom(16).hex()}"

    def _path(self, session_id: str) -> Path | None:
        # An id comes from the client: it must never name a file elsewhere.
        return self._folder / (session_id + _SUFFIX) if self._id.fullmatch(session_id) else None

    def _write(self, header: SessionRecord, records: Sequence[Record]) -> SessionFile[State]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Under another name until it is complete, so that no process lists half a fork.
        part = self._folder / (header.id + ".part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(encode_record(record) + b"\n" for record in (header, *records))
        path = self._folder / (header.id + _SUFFIX)
        part.rename(path)
        return SessionFile(header.id, path, self._new_state())

    def _ids_by_change(self) -> list[tuple[int, str]]:
        """Returns the time of the last change and the id of every session, latest first."""
        try:
            entries = list(os.scandir(self._folder))
        except FileNotFoundError:
            return []
        changes: list[tuple[int, str]] = []
        for entry in entries:
            session_id = entry.name.removesuffix(_SUFFIX)
            if session_id == entry.name or not self._id.fullmatch(session_id):
                continue
            try:
                changes.append((entry.stat().st_mtime_ns, session_id))
            except FileNotFoundError:
                continue  # Another process deleted it since the scan.
        return sorted(changes, reverse=True)

    def _read_cursor(self, cursor: str | None) -> tuple[int, str] | None:
        if cursor is None:
            return None
        changed_ns, _, session_id = cursor.partition(":")
        if not changed_ns.isdecimal() or not self._id.fullmatch(session_id):
            raise ValueError(f"{cursor!r} is not a cursor of this agent")
        return int(changed_ns), session_id


def _parse(data: bytes) -> list[Record]:
    records: list[Record] = []
    for line in data.split(b"\n"):
        try:
            records.append(decode_record(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # Half a line that a killed writer left, or the empty string after the last newline.
    return records
