"""Chooses the agent and mode of a new session that names none, as the repository's own file proposes them. The file is
written by whoever can write to the repository: it never leads to a mode that grants more than without it."""

from __future__ import annotations

from typing import NamedTuple

from bough.agents.catalog import Catalog
from bough.agents.catalog.find_program import startable
from bough.core.sessions.requests import NewSession
from bough.core.worktrees.config.read import read_config
from bough.errors import BoughError
from bough.model.session import RANK, PermissionMode
from bough.settings import Settings


class SessionDefaults(NamedTuple):
    """The agent and mode of a new session."""

    agent: str
    mode: PermissionMode


def repo_defaults(catalog: Catalog, settings: Settings, new: NewSession, agent: str, *folders: str) -> SessionDefaults:
    """Returns the agent and mode for a request that would get `agent` without the file. A proposed agent that is not
    installed does not count. Reads the disk, so call it in a thread."""
    if new.agent is not None and new.permission_mode is not None:
        return SessionDefaults(agent, new.permission_mode)
    config = read_config(*folders)
    usual = catalog.get(agent).default_mode
    if new.agent is None and config.agent is not None and _is_installed(catalog, settings, config.agent):
        agent = config.agent
    if new.permission_mode is not None:
        return SessionDefaults(agent, new.permission_mode)
    usual = min(usual, catalog.get(agent).default_mode, key=_rank)
    proposed = config.mode or usual
    return SessionDefaults(agent, proposed if _rank(proposed) <= _rank(usual) else usual)


def _rank(mode: PermissionMode) -> int:
    return RANK[mode]


def _is_installed(catalog: Catalog, settings: Settings, agent: str) -> bool:
    try:
        startable(catalog.get(agent), settings.data_path)
    except BoughError:
        return False
    return True
