"""The catalog: one TOML file per agent says how to start it and what it can be trusted with; users add files of their
own, or change single fields of ours. Talking to an agent is `bough.agents.acp`."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import structlog

from bough.agents.catalog import find as finding
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.find import LocatedAgent
from bough.agents.catalog.settings_folder import merged
from bough.errors import Invalid

__all__ = ["BrokenEntry", "Catalog", "CatalogEntry", "LocatedAgent", "load_catalog"]

log = structlog.get_logger("bough.agents")

BUILT_IN = Path(__file__).parent
# The first of these that is installed is the default agent; the demo agent always is.
PREFERRED = ("claude-code", "codex", "gemini", "opencode", "demo")


class BrokenEntry(msgspec.Struct):
    """A file of the user's that does not describe an agent, and why."""

    name: str
    origin: str
    error: str


class Catalog:
    """All agents that are known, by name, and what could not be read."""

    def __init__(
        self,
        data: Path,
        entries: list[CatalogEntry],
        broken: list[BrokenEntry] | None = None,
        built_in: Iterable[CatalogEntry] = (),
    ) -> None:
        """`built_in` are the entries that come with Bough, also those that a user's file replaces."""
        self.data = data
        self._built_in = list(built_in)
        self._entries = {entry.name: entry for entry in entries}
        self.broken = broken or []

    def find(self, entry: CatalogEntry) -> LocatedAgent | None:
        """How an agent can be started here."""
        return finding.find(entry, self.data)

    def names(self) -> list[str]:
        return sorted(self._entries)

    def entries(self) -> list[CatalogEntry]:
        return [self._entries[name] for name in self.names()]

    def get(self, name: str) -> CatalogEntry:
        entry = self._entries.get(name)
        if entry is None:
            for one in self.broken:
                if one.name == name:
                    raise Invalid("bad_agent_file", one.error)
            raise Invalid(
                "unknown_agent",
                f"There is no agent {name[:100]!r}. Known are: {', '.join(self.names())}.",
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
        """The agent of a session that names none (O1)."""
        if preferred:
            return self.get(preferred).name
        for name in PREFERRED:
            entry = self._entries.get(name)
            found = self.find(entry) if entry is not None else None
            is_here = found is not None and found.how == "installed"
            if entry is not None and is_here and finding.is_set_up(entry) is not False:
                return name
        return "demo"


def load_catalog(data: Path) -> Catalog:
    """Built-in entries, then the user's own from `agents/` in the data folder, which win; one of those that cannot be
    read is left out, and known as broken."""
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
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
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
        raise Invalid("bad_agent_file", f"{path} names no command.")
    unknown = {mode.start for one in entry.modes if (mode := entry.mode(one)).start and mode.start not in entry.start}
    if unknown:
        raise Invalid("bad_agent_file", f"{path} has no [start.{sorted(unknown)[0]}], which its modes name.")
    places = {"{python}": sys.executable, "{data}": str(data)}
    entry.command = [_filled(part, places) for part in entry.command]
    entry.env = {name: _filled(value, places) for name, value in entry.env.items()}
    if entry.home is not None:
        entry.home.programs = {
            name: [_filled(part, places) for part in command] for name, command in entry.home.programs.items()
        }
    entry.origin = str(path)
    return entry


def _filled(text: str, places: dict[str, str]) -> str:
    for mark, value in places.items():
        text = text.replace(mark, value)
    return os.path.expanduser(text)
