"""Chooses the agent of a session that names none: the preferred one of those that are installed and set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bough.agents.catalog import find_program
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.login import is_set_up


def choose(known: Mapping[str, CatalogEntry], built_in: Sequence[CatalogEntry], data: Path) -> str:
    """Returns the name of the first usable agent in the order of preference, else the one that comes with Bough."""
    order = sorted((entry.preference, entry.name) for entry in built_in if entry.preference is not None)
    for entry in (known[name] for _, name in order if name in known):
        located = find_program.find(entry, data)
        if located is not None and located.how == "installed" and is_set_up(entry) is not False:
            return entry.name
    return next(entry.name for entry in built_in if entry.comes_with_bough)
