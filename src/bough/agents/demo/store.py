"""Owns the session files: creates, appends, reads what was appended by anyone, forks, lists, deletes.
It leaves the meaning of what is said in them to the turns, and keeps no lock: every append is one write.
"""

import os
import re
from pathlib import Path

import msgspec

from bough.agents.demo.records import (
    EndRecord,
    Json,
    PermissionRecord,
    PromptRecord,
    Record,
    SessionRecord,
    SettingRecord,
    Tokens,
    UpdateRecord,
    decode_record,
    encode_record,
    now,
)

PAGE = 50
_ID = re.compile(r"demo-[0-9a-f]{32}")
_SUFFIX = ".jsonl"


class State:
    """What the records so far amount to."""

    def __init__(self) -> None:
        self.cwd = ""
        self.mode = "default"
        self.model = "demo-small"
        self.effort = "medium"
        self.title: str | None = None
        self.turns = 0
        self.texts: list[str] = []
        self.always: set[str] = set()
        self.tokens = Tokens()
        self.cost = 0.0

    def apply(self, record: Record) -> None:
        match record:
            case SessionRecord():
                self.cwd = record.cwd
            case SettingRecord():
                self.cwd = record.cwd or self.cwd
                self.mode = record.mode or self.mode
                self.model = record.model or self.model
                self.effort = record.effort or self.effort
            case PromptRecord():
                self.turns += 1
                self.texts += texts_of(record)
            case UpdateRecord():
                if record.update.get("sessionUpdate") == "session_info_update":
                    self.title = record.update.get("title", self.title)
            case PermissionRecord():
                if record.answer == "allow_always":
                    self.always.add(record.kind)
            case EndRecord():
                self.tokens.input_tokens += record.usage.input_tokens
                self.tokens.output_tokens += record.usage.output_tokens
                self.tokens.thought_tokens += record.usage.thought_tokens
                self.cost = round(self.cost + record.cost, 6)


class SessionFile:
    """One session's file and the state that follows from it."""

    def __init__(self, session_id: str, path: Path) -> None:
        self.id = session_id
        self._path = path
        self._offset = 0
        self._state = State()

    def state(self) -> State:
        """Reads what was appended since, by this process or another, and returns the state as of now."""
        for record in self._unread():
            self._state.apply(record)
        return self._state

    def append(self, record: Record) -> None:
        """Writes a record; it survives the death of this process from here on."""
        line = encode_record(record) + b"\n"
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

    def records(self) -> list[Record]:
        """Returns every whole record, from the first."""
        return _parse(self._path.read_bytes())

    def _unread(self) -> list[Record]:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        # A line without an end may still be being written: it is read again next time.
        data = data[: data.rfind(b"\n") + 1]
        self._offset += len(data)
        return _parse(data)


class Home:
    """The folder of all sessions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self, cwd: str) -> SessionFile:
        return self._write(cwd, None, [])

    def fork(self, parent: SessionFile, cwd: str) -> SessionFile:
        """Copies what is recorded up to now under a new id."""
        records = [record for record in parent.records() if not isinstance(record, SessionRecord)]
        # The fork lives where it was asked to, wherever its parent had moved to.
        return self._write(cwd, parent.id, [*records, SettingRecord(at=now(), cwd=cwd)])

    def find(self, session_id: str) -> SessionFile | None:
        path = self._path(session_id)
        return SessionFile(session_id, path) if path is not None and path.is_file() else None

    def delete(self, session_id: str) -> None:
        path = self._path(session_id)
        if path is not None:
            path.unlink(missing_ok=True)

    def page(self, cwd: str | None, cursor: str | None) -> tuple[list[tuple[SessionFile, float]], str | None]:
        """Returns sessions and the times of their last change, latest first, and the next cursor."""
        before = _read_cursor(cursor)
        found: list[tuple[int, str, SessionFile]] = []
        for stamp, session_id in self._stamps():
            if before is not None and (stamp, session_id) >= before:
                continue
            file = self.find(session_id)
            if file is not None and (cwd is None or file.state().cwd == cwd):
                found.append((stamp, session_id, file))
            if len(found) > PAGE:
                break
        page = [(file, stamp / 1e9) for stamp, _, file in found[:PAGE]]
        following = f"{found[PAGE - 1][0]}:{found[PAGE - 1][1]}" if len(found) > PAGE else None
        return page, following

    def _stamps(self) -> list[tuple[int, str]]:
        try:
            entries = list(os.scandir(self._folder))
        except FileNotFoundError:
            return []
        names = [entry for entry in entries if _ID.fullmatch(entry.name.removesuffix(_SUFFIX))]
        stamps: list[tuple[int, str]] = []
        for entry in names:
            try:
                stamps.append((entry.stat().st_mtime_ns, entry.name.removesuffix(_SUFFIX)))
            except FileNotFoundError:
                continue  # Deleted by another process since the scan.
        return sorted(stamps, reverse=True)

    def _path(self, session_id: str) -> Path | None:
        # An id comes from the client: it must never name a file elsewhere.
        return self._folder / (session_id + _SUFFIX) if _ID.fullmatch(session_id) else None

    def _write(self, cwd: str, forked_from: str | None, records: list[Record]) -> SessionFile:
        session_id = "demo-" + os.urandom(16).hex()
        header = SessionRecord(at=now(), id=session_id, cwd=cwd, forked_from=forked_from)
        self._folder.mkdir(parents=True, exist_ok=True)
        # Under another name until it is whole, so that nobody lists half a fork.
        part = self._folder / (session_id + ".part")
        part.write_bytes(b"".join(encode_record(record) + b"\n" for record in (header, *records)))
        path = self._folder / (session_id + _SUFFIX)
        part.rename(path)
        return SessionFile(session_id, path)


def texts_of(prompt: PromptRecord) -> list[str]:
    """Returns every text that the user sent in a prompt, quoted matter and embedded files included."""
    texts: list[str] = []
    for block in prompt.content:
        body: Json = block["resource"] if block["type"] == "resource" else block
        if "text" in body:
            texts.append(body["text"])
    return texts


def _parse(data: bytes) -> list[Record]:
    records: list[Record] = []
    for line in data.split(b"\n"):
        try:
            records.append(decode_record(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # Half a line, left by a writer that was killed, or the nothing after the last line.
    return records


def _read_cursor(cursor: str | None) -> tuple[int, str] | None:
    if cursor is None:
        return None
    stamp, _, session_id = cursor.partition(":")
    if not stamp.isdecimal() or not _ID.fullmatch(session_id):
        raise ValueError(f"{cursor!r} is no cursor of this agent")
    return int(stamp), session_id
