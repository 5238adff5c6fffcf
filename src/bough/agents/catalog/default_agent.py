"""Chooses the agent of a session that names none: the preferred one of those that are installed and set up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from bough.agents.catalog import find as locate
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.find import LocatedAgent


class KnownAgents(Protocol):
    """What the choice needs of the catalog."""

    def entry(self, name: str) -> CatalogEntry | None: ...

    def find(self, entry: CatalogEntry) -> LocatedAgent | None: ...


def choose(known: KnownAgents, built_in: Iterable[CatalogEntry]) -> str:
    """Returns the name of the first usable agent in the order of preference, else the one that comes with Bough."""
    built_in = list(built_in)
    order = sorted((entry.preference, entry.name) for entry in built_in if entry.preference is not None)
    for _, name in order:
        entry = known.entry(name)
        located = known.find(entry) if entry is not None else None
        is_here = located is not None and located.how == "installed"
        if entry is not None and is_here and locate.is_set_up(entry) is not False:
            return name
    return next(entry.name for entry in built_in if entry.comes_with_bough)
