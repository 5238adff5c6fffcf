"""Owns the session files: creates, forks, lists and deletes them, and knows the state that follows from one.
It leaves writing and reading to `serving`, and what a shell does with its state to `shell`.
"""

from __future__ import annotations

import os
from pathlib import Path

from bough.agents.acp_server.record_files import RecordFile, Shelf, now
from bough.agents.terminal.modes import INITIAL_MODE
from bough.agents.terminal.prompts import asked
from bough.agents.terminal.records import (
    PermissionRecord,
    PromptRecord,
    Record,
    SessionRecord,
    SettingRecord,
    ShellRecord,
    decode_record,
)


class State:
    """What the records so far amount to."""

    def __init__(self) -> None:
        # The folder of the session, and the one in which its shell stands.
        self.folder = ""
        self.cwd = ""
        self.mode = INITIAL_MODE
        self.turns = 0
        # The command that was asked for last, whether it ran or not.
        self.last: str | None = None
        # What the shell has exported, and what it has taken away from the environment.
        self.set: dict[str, str] = {}
        self.unset: list[str] = []
        # Commands, each with the folder it was meant for, that need no further question.
        self.always: set[tuple[str, str]] = set()

    def apply(self, record: Record) -> None:
        match record:
            case SessionRecord():
                self.folder = self.cwd = record.cwd
            case SettingRecord():
                self.mode = record.mode or self.mode
                if record.cwd is not None and record.cwd != self.folder:
                    self._move(record.cwd)
            case PromptRecord():
                self.turns += 1
                self.last = asked(record.content).text
            case PermissionRecord():
                if record.answer == "allow_always":
                    self.always.add((record.command, record.cwd))
            case ShellRecord():
                self.cwd, self.set, self.unset = record.cwd, record.set, record.unset
            case _:
                pass

    def _move(self, folder: str) -> None:
        """The session lives in another folder now: a shell inside the old one stands at the same place of the new."""
        if self.cwd == self.folder or self.cwd.startswith(self.folder.rstrip("/") + "/"):
            self.cwd = os.path.normpath(os.path.join(folder, os.path.relpath(self.cwd, self.folder)))
            self.set = {name: value for name, value in self.set.items() if name != "OLDPWD"}
        self.folder = folder


class SessionFile(RecordFile[Record]):
    """One session's file and the state that follows from it."""

    def __init__(self, session_id: str, path: Path) -> None:
        super().__init__(path, decode_record)
        self._folder = path.parent.absolute()
        self.id = session_id
        self._state = State()

    def state(self) -> State:
        """Reads what was appended since, by this process or another, and returns the state as of now."""
        for record in self.unread():
            self._state.apply(record)
        return self._state

    def place(self) -> str:
        """Returns where the next command runs: where the shell stands, or the session's folder if that is gone."""
        state = self.state()
        return state.cwd if os.path.isdir(state.cwd) else state.folder

    def beside(self, name: str) -> str:
        """Returns the absolute path of another file in the same folder."""
        return str(self._folder / name)


class Home:
    """The folder of all sessions."""

    def __init__(self, folder: Path) -> None:
        self._shelf = Shelf(folder, "terminal")

    def create(self, cwd: str) -> SessionFile:
        return self._write(SessionRecord(at=now(), id=self._shelf.new_id(), cwd=cwd), [])

    def fork(self, parent: SessionFile, cwd: str) -> SessionFile:
        """Copies what is recorded up to now under a new id, the state of the shell included."""
        header, *records = parent.records()
        assert isinstance(header, SessionRecord)
        # With the parent's folder first, so that the move to another one is a move for the shell too.
        first = SessionRecord(at=now(), id=self._shelf.new_id(), cwd=header.cwd, forked_from=parent.id)
        return self._write(first, [*records, SettingRecord(at=now(), cwd=cwd)])

    def find(self, session_id: str) -> SessionFile | None:
        path = self._shelf.existing(session_id)
        return None if path is None else SessionFile(session_id, path)

    def delete(self, session_id: str) -> None:
        self._shelf.delete(session_id)

    def page(self, cwd: str | None, cursor: str | None) -> tuple[list[tuple[SessionFile, float]], str | None]:
        """Returns sessions and the times of their last change, latest first, and the next cursor."""

        def wanted(session_id: str) -> SessionFile | None:
            file = self.find(session_id)
            return file if file is not None and (cwd is None or file.state().folder == cwd) else None

        return self._shelf.page(cursor, wanted)

    def _write(self, first: SessionRecord, records: list[Record]) -> SessionFile:
        return SessionFile(first.id, self._shelf.write(first.id, [first, *records]))
