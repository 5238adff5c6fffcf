"""Lists the hosts that a strictly confined agent may reach: its model's, those of the settings, and those that a person
has allowed."""

from __future__ import annotations

import contextlib

import msgspec

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.network.hosts import INTERNAL, BadHost, parse_pattern
from bough.core.policy.choices import reaching
from bough.core.store.sql import REPOS
from bough.model.approval import NETWORK_KIND
from bough.model.repo import Repo
from bough.model.rule import Choice
from bough.model.session import Session
from bough.settings import Settings
from bough.storage.backend import Tx

KEY_PREFIX = f"{NETWORK_KIND}: "
"""Begins the keys of choices that allow a host."""


async def allowed_hosts(
    tx: Tx, entry: CatalogEntry, session: Session, settings: Settings, *, anywhere: bool = False
) -> list[str]:
    """Returns the patterns of hosts for a session, without the ones that its variables and MCP servers name; `anywhere`
    if its folder is not known yet."""
    repo = await tx.one(REPOS.get, Repo, id=session.repo_id)
    choices = await reaching(tx, session.agent, None if anywhere else session.cwd, session.id)
    patterns = [
        *entry.sandbox.hosts,
        *settings.sandbox_host_patterns,
        *(msgspec.json.decode(repo.sandbox_hosts, type=list[str]) if repo is not None else []),
        *(_chosen(choice) for choice in choices if choice.tool_kind == NETWORK_KIND),
    ]
    return list(dict.fromkeys(usable for pattern in patterns for usable in _usable(pattern)))


def _chosen(choice: Choice) -> str:
    """Returns the host of a choice. An agent chose the name, so that it opens public addresses alone."""
    host = choice.key.removeprefix(KEY_PREFIX)
    return "" if host.startswith(INTERNAL) else host


def _usable(pattern: str) -> list[str]:
    """Returns a pattern in its usual form; nothing if it is malformed, which an agent's own file may be."""
    with contextlib.suppress(BadHost):
        return [parse_pattern(pattern)]
    return []
