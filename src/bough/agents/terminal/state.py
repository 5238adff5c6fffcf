"""Derives the state of a terminal session from its records: folders, exported variables and allowed commands."""

from __future__ import annotations

import os
from pathlib import Path

from bough.agents.acp_server.records import (
    PermissionRecord,
    PromptRecord,
    Record,
    SessionRecord,
    SettingRecord,
    ShellRecord,
)
from bough.agents.acp_server.session_store import RecordedSession, SessionFile, SessionStore
from bough.agents.terminal.prompts import read_command


class TerminalState(RecordedSession):
    """The result of applying a session's records in order."""

    def __init__(self) -> None:
        super().__init__()
        # The shell's folder, which may differ from the session's.
        self.cwd = ""
        # The last command that was requested, whether it ran or not.
        self.last_command: str | None = None
        # The variables that the shell has exported, and those of the base environment that it has unset.
        self.set: dict[str, str] = {}
        self.unset: list[str] = []
        # Commands that are allowed for the rest of the session, each with its folder.
        self.always_allowed: set[tuple[str, str]] = set()

    def apply(self, record: Record) -> None:
        """Applies the next record."""
        old_folder = self.folder
        super().apply(record)
        match record:
            case SessionRecord():
                self.cwd = record.cwd
            case SettingRecord():
                if self.folder != old_folder:
                    self._move(old_folder, self.folder)
            case PromptRecord():
                self.last_command = read_command(record.content).text
            case PermissionRecord():
                if record.answer == "allow_always" and record.command is not None and record.cwd is not None:
                    self.always_allowed.add((record.command, record.cwd))
            case ShellRecord():
                self.cwd, self.set, self.unset = record.cwd, record.set, record.unset
            case _:
                pass

    def command_folder(self) -> str:
        """Returns the folder of the next command: the shell's, or the session's if that is gone."""
        return self.cwd if os.path.isdir(self.cwd) else self.folder

    def _move(self, old: str, new: str) -> None:
        """Moves a shell inside the session's old folder to the same place in the new one."""
        if self.cwd == old or self.cwd.startswith(old.rstrip("/") + "/"):
            self.cwd = os.path.normpath(os.path.join(new, os.path.relpath(self.cwd, old)))
            self.set = {name: value for name, value in self.set.items() if name != "OLDPWD"}


TerminalFile = SessionFile[TerminalState]
TerminalStore = SessionStore[TerminalState]


def open_store(folder: Path) -> TerminalStore:
    """Returns the store of the terminal sessions in a folder."""
    return SessionStore(folder, "terminal", TerminalState)
