"""Holds the known agents by name, and the files that could not be read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import msgspec

from bough.agents.catalog import find_program
from bough.agents.catalog.default_agent import choose
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.find_program import LocatedAgent
from bough.errors import Invalid


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

    def take(self, other: Catalog) -> None:
        """Takes over the entries of a catalog that was read again."""
        self._built_in, self._entries, self.broken = other._built_in, other._entries, other.broken
        for name in ("protected", "secrets"):
            self.__dict__.pop(name, None)

    @property
    def built_in_names(self) -> set[str]:
        """The names of the agents that Bough knows by itself."""
        return {entry.name for entry in self._built_in}

    def find(self, entry: CatalogEntry) -> LocatedAgent | None:
        """Returns how an agent can be started on this machine, or None."""
        return find_program.find(entry, self.data)

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

    def steers(self, name: str) -> bool:
        """Tells whether an agent takes prompts during its turns."""
        entry = self.entry(name)
        return entry is not None and bool(entry.steering.method)

    def entry(self, name: str) -> CatalogEntry | None:
        """Returns an agent's entry; None if its file is gone, which sessions outlive."""
        return self._entries.get(name)

    @cached_property
    def protected(self) -> list[tuple[str, ...]]:
        """The paths below any folder that some agent takes rights from, as patterns for consecutive names."""
        paths = {path for entry in (*self._built_in, *self.entries()) for path in entry.repository.protect}
        return [tuple(path.casefold().split("/")) for path in sorted(paths)]

    @cached_property
    def secrets(self) -> list[tuple[str, ...]]:
        """The paths below any folder that hold an agent's keys, as patterns for consecutive names."""
        paths = {path for entry in (*self._built_in, *self.entries()) for path in entry.login.secrets}
        return [tuple(path.casefold().split("/")) for path in sorted(paths)]

    def default(self, preferred: str = "") -> str:
        """Returns the agent for sessions that do not name one (O1)."""
        return self.get(preferred).name if preferred else choose(self._entries, self._built_in, self.data)
