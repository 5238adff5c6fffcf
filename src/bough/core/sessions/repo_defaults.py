"""Chooses the preset, agent and mode of a new session that names none, as the repository's own file proposes them. The
file is written by whoever can write to the repository: it never leads to a mode that grants more than without it, and
never to a preset that brings more than an agent, a model and instructions."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from bough.agents.catalog import Catalog
from bough.agents.catalog.find_program import startable
from bough.core.presets.find import choose_preset
from bough.core.sessions.from_preset import filled
from bough.core.sessions.requests import NewSession
from bough.core.store.transactions import Store
from bough.core.worktrees.config.read import read_config
from bough.errors import BoughError, NotFound
from bough.model.agents.preset import ChosenPreset
from bough.model.session import RANK, PermissionMode
from bough.settings import Settings


class SessionDefaults(NamedTuple):
    """A new session with what the file proposes, its agent and mode, and what people should know about it."""

    session: NewSession
    agent: str
    mode: PermissionMode
    warnings: list[str]


class RepoDefaults:
    """Completes new sessions by the files of their repositories."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog

    async def complete(self, new: NewSession, agent: str, *folders: str) -> SessionDefaults:
        """Completes a request that would get `agent` without the file. A proposed agent that is not installed does not
        count."""
        if new.agent is not None and new.permission_mode is not None:
            return SessionDefaults(new, agent, new.permission_mode, [])
        config = await asyncio.to_thread(read_config, *folders)
        requested, proposed = new.permission_mode, config.mode
        usual = self._catalog.get(agent).default_mode
        warnings: list[str] = []
        if new.agent is None and config.preset is not None:
            preset, reason = await self._proposed(config.preset)
            if preset is None:
                warnings = [f"The repository's preset {config.preset} is not used: {reason}"]
            else:
                new, agent, proposed = filled(new, preset), preset.agent, preset.permission_mode or proposed
        if new.agent is None and config.agent is not None and self._is_installed(config.agent):
            agent = config.agent
        if requested is not None:
            return SessionDefaults(new, agent, requested, warnings)
        usual = min(usual, self._catalog.get(agent).default_mode, key=_rank)
        proposed = proposed or usual
        return SessionDefaults(new, agent, proposed if _rank(proposed) <= _rank(usual) else usual, warnings)

    async def _proposed(self, name: str) -> tuple[ChosenPreset | None, str]:
        """Returns the preset that the file names, or why it does not count."""
        try:
            preset = await self._store.read(lambda tx: choose_preset(tx, name))
        except NotFound:
            return None, "there is none of this name."
        if preset.env or preset.mcp_server_ids:
            return None, "it brings variables or MCP servers. Choose it yourself."
        # Another choice could confine the agent less than the repository's own settings do.
        if preset.sandbox not in (None, "required") or preset.sandbox_profile not in (None, "strict"):
            return None, "it changes the sandbox. Choose it yourself."
        if not self._is_installed(preset.agent):
            return None, f"its agent {preset.agent} is not installed."
        return preset, ""

    def _is_installed(self, agent: str) -> bool:
        try:
            startable(self._catalog.get(agent), self._settings.data_path)
        except BoughError:
            return False
        return True


def _rank(mode: PermissionMode) -> int:
    return RANK[mode]
