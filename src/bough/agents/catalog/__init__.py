"""The catalog of agents: one TOML file per agent describes how to find and start it and how it behaves.

- It owns the built-in files, the user's own files in the data folder, and everything that a start needs: the program
  (`find_program`), whether a person is logged in (`login`), the command and environment (`prepare`), the settings
  folder and the files of the repository.
- The core asks it for entries and starts; `api` and the command line show it.
- It calls `bough.model` and `bough.errors` only. Talking to an agent is `bough.agents.acp`.
"""

from __future__ import annotations

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.find_program import LocatedAgent
from bough.agents.catalog.known_agents import BrokenEntry, Catalog
from bough.agents.catalog.load import load_catalog, usual_agents

__all__ = ["BrokenEntry", "Catalog", "CatalogEntry", "LocatedAgent", "load_catalog", "usual_agents"]
