"""The catalog of agents: one TOML file per agent describes how to find and start it and how it behaves.

- It owns the built-in files, the user's own files in the data folder, and everything that a start needs: the program
  (`find`), the command and environment (`prepare`), the settings folder and the files of the repository.
- The core asks it for entries and starts; `api` and the command line show it.
- It calls `bough.model` and `bough.errors` only. Talking to an agent is `bough.agents.acp`.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import structlog

from bough.agents.catalog import find as locate
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.find import LocatedAgent
from bough.agents.catalog.settings_folder import merged
from bough.errors import Invalid

__all__ = ["BrokenEntry", "Catalog", "CatalogEntry", "LocatedAgent", "load_catalog"]

log = structlog.get_logger("bough.agents")

BUILT_IN = Path(__file__).parent
# The default agent is the first of these that is installed and set up. The demo agent always is.
PREFERRED = ("claude-code", "codex", "gemini", "opencode", "demo")


class BrokenEntry(msgspec.Struct):
    """A file of the user that does not describe an agent, with the reason."""

    name: str
    origin: str
    error: str


class Catalog:
    """All known agents by name, and the files that could not be read."""

    def __init__(
        self,
        data: Path,
        entries: list[CatalogEntry],
        broken: list[BrokenEntry] | None = None,
        built_in: Iterable[CatalogEntry] = (),
    ) -> None:
        """Takes the entries in use; `built_in` are all that come with Bough, including those that a user replaces."""
        self.data = data
        self._built_in = list(built_in)
        self._entries = {entry.name: entry for entry in entries}
        self.broken = broken or []

    def find(self, entry: CatalogEntry) -> LocatedAgent | None:
        """Returns how an agent can be started on this machine, or None."""
        return locate.find(entry, self.data)

    def names(self) -> list[str]:
        return sorted(self._entries)

    def entries(self) -> list[CatalogEntry]:
        return [self._entries[name] for name in self.names()]

    def get(self, name: str) -> CatalogEntry:
        entry = self._entries.get(name)
        if entry is None:
            for file in self.broken:
                if file.name == name:
                    raise Invalid("bad_agent_file", file.error)
            raise Invalid(
                "unknown_agent",
                f"There is no agent {name[:100]!r}. Choose one of: {', '.join(self.names())}.",
                known=self.names(),
            )
        return entry

    def entry(self, name: str) -> CatalogEntry | None:
        """Returns an agent's entry; None if its file is gone, which sessions outlive."""
        return self._entries.get(name)

    @cached_property
    def protected(self) -> list[tuple[str, ...]]:
        """The paths below any folder that some agent takes rights from, as patterns for consecutive names."""
        paths = {path for entry in (*self._built_in, *self.entries()) for path in entry.repository.protect}
        return [tuple(path.casefold().split("/")) for path in sorted(paths)]

    def default(self, preferred: str = "") -> str:
        """Returns the agent for sessions that do not name one (O1)."""
        if preferred:
            return self.get(preferred).name
        for name in PREFERRED:
            entry = self._entries.get(name)
            located = self.find(entry) if entry is not None else None
            is_here = located is not None and located.how == "installed"
            if entry is not None and is_here and locate.is_set_up(entry) is not False:
                return name
        return "demo"


def load_catalog(data: Path) -> Catalog:
    """Reads the built-in files, then the user's in `agents/` of the data folder, which take precedence.

    A user's file that cannot be read is left out and listed as broken.
    """
    tables = {path.stem: _table(path) for path in sorted(BUILT_IN.glob("*.toml"))}
    built_in = {name: _read(table, BUILT_IN / f"{name}.toml", data) for name, table in tables.items()}
    entries = dict(built_in)
    broken: list[BrokenEntry] = []
    for path in sorted((data / "agents").glob("*.toml")):
        try:
            table = _table(path)
            if (base := table.pop("extends", None)) is not None:
                table = merged(_base(tables, base, path), table)
            entry = _read(table, path, data)
        except Invalid as error:
            log.warning("bad_agent_file", path=str(path), error=error.message)
            broken.append(BrokenEntry(path.stem, str(path), error.message))
        else:
            entries[entry.name] = entry
    return Catalog(data, list(entries.values()), broken, built_in.values())


def _table(path: Path) -> dict[str, Any]:
    try:
        return {"name": path.stem} | tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # Errors of text, TOML and too long numbers are ValueErrors.
        raise Invalid("bad_agent_file", f"{path} does not describe an agent: {error}") from error


def _base(tables: dict[str, dict[str, Any]], name: Any, path: Path) -> dict[str, Any]:
    if not isinstance(name, str) or name not in tables:
        raise Invalid("bad_agent_file", f"{path} extends {name!r}, which is not one of {', '.join(sorted(tables))}.")
    return tables[name]


def _read(table: dict[str, Any], path: Path, data: Path) -> CatalogEntry:
    try:
        entry = msgspec.convert(table, CatalogEntry)
    except msgspec.ValidationError as error:
        raise Invalid("bad_agent_file", f"{path} does not describe an agent: {error}") from error
    if not entry.command:
        raise Invalid(
            "bad_agent_file", f'{path} names no command. Add one, for example: command = ["my-agent", "--acp"]'
        )
    unknown = {mode.start for name in entry.modes if (mode := entry.mode(name)).start and mode.start not in entry.start}
    if unknown:
        raise Invalid("bad_agent_file", f"{path} has no [start.{sorted(unknown)[0]}], which its modes name.")
    _check_patterns(entry, path)
    values = {"{python}": sys.executable, "{data}": str(data)}
    entry.command = [_filled(part, values) for part in entry.command]
    entry.login.command = [_filled(part, values) for part in entry.login.command]
    entry.env = {name: _filled(value, values) for name, value in entry.env.items()}
    if entry.home is not None:
        entry.home.programs = {
            name: [_filled(part, values) for part in command] for name, command in entry.home.programs.items()
        }
    entry.origin = str(path)
    return entry


def _check_patterns(entry: CatalogEntry, path: Path) -> None:
    """Raises `Invalid` for a regular expression that cannot be used; a turn would otherwise meet it first."""
    quirks = entry.quirks
    by_file = (*entry.login.contents.values(), *entry.login.named_in.values())
    of_logins = [pattern for patterns in by_file for pattern in patterns]
    of_texts = (*quirks.failures, *quirks.unauthenticated, *quirks.unauthorized, *quirks.broken, *quirks.noise)
    for pattern in (*of_texts, *of_logins):
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise Invalid("bad_agent_file", f"{path}: {pattern!r} is not a regular expression: {error}.") from error


def _filled(text: str, values: dict[str, str]) -> str:
    if "\0" in text:
        raise Invalid("bad_agent_file", f"{text!r} contains a NUL character, which no command can have.")
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return os.path.expanduser(text)
